// The promises, in JavaScript: an exact window beside each filter.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Filter } from "./subject.js";

/** Pseudorandom numbers below a limit, the same in every run. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

for (const layout of ["slices", "blocks", "rows", "bins"]) {
  test(`a count window of ${layout} never forgets, at any phase`, () => {
    const seen = new Filter({ window: 300, falsePositiveRate: 1e-3, layout });
    const below = random(7);
    const latest = new Map();
    for (let now = 0; now < 5_000; now++) {
      const item = `item-${below(900)}`;
      const isInWindow = now - (latest.get(item) ?? -1e9) <= 300;
      const answer = seen.checkAndAdd(item);
      assert.ok(answer || !isInWindow, `${item} after ${now}`);
      latest.set(item, now);
    }
  });

  test(`a time window of ${layout} never forgets, and expires`, () => {
    const seen = new Filter({ within: 1_000, capacity: 400, falsePositiveRate: 1e-3, layout });
    const below = random(3);
    const latest = new Map();
    let now = 1_700_000_000_000;
    for (let round = 0; round < 3_000; round++) {
      now += below(8);
      const item = below(2_000);
      const isInWindow = now - (latest.get(item) ?? 0) <= 1_000;
      assert.ok(seen.checkAndAdd(item, { now }) || !isInWindow, `${item} at ${now}`);
      latest.set(item, now);
    }
    const idle = { now: now + 10_000 };
    assert.ok([...latest.keys()].every((item) => !seen.has(item, idle)));
  });
}

test("new items are mistaken at most at the rate", () => {
  const seen = new Filter({ window: 20_000, falsePositiveRate: 1e-2 });
  seen.addMany(Uint32Array.from({ length: 40_000 }, (_, index) => index));
  const strangers = Array.from({ length: 50_000 }, (_, index) => `stranger ${index}`);
  const mistaken = seen.hasMany(strangers).filter(Boolean).length;
  // 500 are expected at most; one chance in a million for more than 620.
  assert.ok(mistaken > 0 && mistaken < 620, String(mistaken));
});

test("a time window without a capacity grows and shrinks with the traffic", () => {
  const seen = new Filter({ within: "1m", falsePositiveRate: 1e-4 });
  seen.add("first", { now: 0 });
  const small = seen.memoryBytes;
  seen.addMany(Uint32Array.from({ length: 200_000 }, (_, index) => index), { now: 1_000 });
  const large = seen.memoryBytes;
  assert.ok(large > 20 * small);
  assert.ok(seen.hasMany(Uint32Array.from({ length: 200_000 }, (_, index) => index)).every((one) => one === 1));
  for (let now = 60_000; now < 600_000; now += 5_000) seen.add(now, { now });
  assert.ok(seen.memoryBytes < large / 4);
  const { growths, shrinks, peakMemoryBytes } = seen.statistics();
  assert.ok(growths > 0 && shrinks > 0 && peakMemoryBytes >= large);
});

test("every sighting refreshes with checkAndAdd, only the first counts with checkOrAdd", () => {
  const promise = { within: 1_000, capacity: 100, falsePositiveRate: 1e-9 };
  const [every, first] = [new Filter(promise), new Filter(promise)];
  const answers = { every: [], first: [] };
  for (let now = 0; now <= 6_000; now += 500) {
    answers.every.push(every.checkAndAdd("a", { now }));
    answers.first.push(first.checkOrAdd("a", { now }));
  }
  assert.deepEqual(answers.every.filter((seen) => !seen).length, 1);
  assert.ok(answers.first.filter((seen) => !seen).length > 3);
});

test("without a time, the system's clock counts; after one, never again", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_700_000_000_000 });
  const seen = new Filter({ within: "10s", capacity: 100, falsePositiveRate: 1e-6 });
  assert.equal(seen.has("a"), false);
  assert.equal(seen.clock, "unset", "a question does not start the clock");
  seen.add("a");
  assert.deepEqual([seen.clock, seen.has("a")], ["system", true]);
  t.mock.timers.setTime(1_700_000_060_000);
  assert.equal(seen.has("a"), false, "an idle filter expires");

  const replay = new Filter({ within: "10s", capacity: 100, falsePositiveRate: 1e-6 });
  replay.add("a", { now: new Date("2020-01-01") });
  assert.deepEqual([replay.has("a"), replay.clock], [true, "events"]);
  assert.equal(Filter.fromBytes(replay.toBytes()).has("a"), true, "also from a snapshot");
});
