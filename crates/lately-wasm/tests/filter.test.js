// Options, errors, snapshots, plans, dedup.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigError, Filter, JumpError, SnapshotError, dedup, plan, repository } from "./subject.js";

const promise = { window: 1_000, falsePositiveRate: 1e-6 };

test("plans are the golden ones", () => {
  const golden = readFileSync(join(repository, "crates/lately/tests/golden/plans.txt"), "utf8");
  const lines = [...golden.matchAll(/^(\d+) (\S+) (?:None|Some\((\S+)\)): k=(\d+) l=(\d+), (slices|blocks|rows|bins) .*g=(\d+) cells=(\d+) bytes=(\d+)$/gm)];
  assert.ok(lines.length >= 20, `${lines.length} lines`);
  lines.forEach(([line, window, rate, slack, k, l, layout, g, cells, bytes], index) => {
    // The first four plans choose the layout themselves.
    const asked = { window: Number(window), falsePositiveRate: Number(rate), maxSlack: slack && Number(slack), layout: index < 4 ? undefined : layout };
    const { requiredMatches, windowGenerations, itemsPerGeneration, cells: ours, memoryBytes, ...rest } = plan(asked)[0];
    assert.deepEqual(
      [requiredMatches, windowGenerations, rest.layout, itemsPerGeneration, ours, memoryBytes],
      [Number(k), Number(l), layout, Number(g), Number(cells), Number(bytes)],
      line,
    );
  });
});

test("a filter is its first plan", () => {
  for (const asked of [promise, { ...promise, prefer: "speed" }, { within: "1h", capacity: 5_000, falsePositiveRate: 1e-3, overload: "keep_rate" }, { window: 500, shape: [3, 5] }, { window: 5_000n, maxMemory: 20_000n }, { falsePositiveRate: 1e-3, maxMemory: 20_000 }]) {
    const seen = new Filter(asked);
    assert.deepEqual(seen.plan(), plan(asked)[0]);
    assert.equal(seen.memoryBytes, seen.plan().memoryBytes);
  }
});

test("spans are milliseconds or texts", () => {
  const spans = { "500ms": 500, "30s": 30_000, "1h30m": 5_400_000, "7d": 604_800_000, "2w": 1_209_600_000 };
  for (const [text, millis] of Object.entries(spans)) {
    assert.equal(new Filter({ within: text, capacity: 100, falsePositiveRate: 0.01 }).guaranteedSpanMs, millis);
  }
  for (const wrong of ["", "10", "10x", "-5s", "5m1h", "1s1s", "1.5h", " 5s"]) {
    assert.throws(() => new Filter({ within: wrong, falsePositiveRate: 0.01 }), (error) => error instanceof ConfigError && error.message.includes(`'${wrong}'`));
  }
});

test("errors name the value, the limit and the remedy, in the words of the options", () => {
  const cases = [
    [{}, ConfigError, /give window .* or within/],
    [{ window: 1_000 }, ConfigError, /give falsePositiveRate, or maxMemory/],
    [{ window: 0, falsePositiveRate: 1e-3 }, ConfigError, /window of 0/],
    [{ window: -1, falsePositiveRate: 1e-3 }, ConfigError, /window = -1/],
    [{ window: 1.5, falsePositiveRate: 1e-3 }, ConfigError, /window = 1.5/],
    [{ window: NaN, falsePositiveRate: 1e-3 }, ConfigError, /window = NaN/],
    [{ window: 2 ** 52, falsePositiveRate: 1e-3 }, ConfigError, /ask for 1 to/],
    [{ window: "1000", falsePositiveRate: 1e-3 }, TypeError, /window cannot be of type string/],
    [{ ...promise, falsePositiveRate: 2 }, ConfigError, /rate of 2/],
    [{ ...promise, falsePositiveRate: NaN }, ConfigError, /falsePositiveRate = NaN/],
    [{ ...promise, falsePositiveRate: "1%" }, TypeError, /falsePositiveRate cannot be/],
    [{ ...promise, within: 5 }, ConfigError, /window and within were both given/],
    [{ ...promise, capacity: 5 }, ConfigError, /capacity was given without within/],
    [{ ...promise, overload: "keep_rate" }, ConfigError, /overload was given for a count window/],
    [{ ...promise, layout: "heap" }, ConfigError, /layout = 'heap' is not possible: give 'slices' or/],
    [{ ...promise, prefer: 5 }, ConfigError, /prefer = 5/],
    [{ ...promise, maxSlack: 0 }, ConfigError, /slack of 0/],
    [{ ...promise, shape: 5 }, TypeError, /pair \[k, l\]/],
    [{ ...promise, shape: [0, 5] }, ConfigError, /k=0/],
    [{ ...promise, shape: [2 ** 40, 5] }, ConfigError, /k and l/],
    [{ ...promise, maxMemory: 10 }, ConfigError, /maxMemory is 10: raise it to/],
    [{ ...promise, seed: -1 }, ConfigError, /seed = -1/],
    [{ ...promise, seed: 2n ** 64n }, ConfigError, /seed = 18446744073709551616/],
    [{ ...promise, seed: 1, key: new Uint8Array(16) }, ConfigError, /seed and key were both given/],
    [{ ...promise, key: new Uint8Array(5) }, ConfigError, /key of 5 bytes/],
    [{ ...promise, key: "secret" }, TypeError, /16 secret bytes/],
    [{ within: 1_000, layout: "rows", falsePositiveRate: 1e-3 }, ConfigError, /give capacity, or leave out layout/],
    [{ window: 1e11, falsePositiveRate: 1e-6 }, RangeError, /./],
    [{ ...promise, windows: 5 }, TypeError, /no option 'windows'/],
    [null, TypeError, /takes an object/],
    [undefined, TypeError, /takes an object/],
  ];
  for (const [options, kind, message] of cases) {
    for (const call of [() => new Filter(options), () => plan(options)]) {
      if (options?.window === 1e11 && String(call).includes("plan")) continue; // a plan needs no memory
      if ((options?.seed ?? options?.key) !== undefined && String(call).includes("plan")) continue; // plan takes neither
      assert.throws(call, (error) => {
        assert.ok(error instanceof kind, `${error}`);
        assert.match(error.message, message);
        return true;
      });
    }
  }
  assert.throws(() => plan({ ...promise, seed: 1 }), /plan takes no seed/);
});

test("snapshots continue where they were, and damaged ones are refused", () => {
  for (const asked of [promise, { within: "1m", falsePositiveRate: 1e-4 }, { ...promise, key: new Uint8Array(16).fill(7), layout: "rows" }]) {
    const seen = new Filter(asked);
    seen.addMany(Array.from({ length: 3_000 }, (_, index) => `item ${index}`), asked.within && { now: 5_000 });
    const bytes = seen.toBytes();
    const again = Filter.fromBytes(bytes);
    assert.deepEqual(again.toBytes(), bytes);
    assert.deepEqual(again.statistics(), seen.statistics());
    const copy = seen.copy();
    copy.add("only the copy");
    assert.deepEqual(seen.toBytes(), bytes);
    for (const damage of [bytes.subarray(0, 50), bytes.subarray(0, bytes.length - 1), new Uint8Array([...bytes, 0]), new Uint8Array(0), new TextEncoder().encode("hello, this is a text and no snapshot")]) {
      assert.throws(() => Filter.fromBytes(damage), SnapshotError);
    }
    for (const at of [0, 8, 12, 100, bytes.length >> 1, bytes.length - 1]) {
      const damaged = bytes.slice();
      damaged[at] ^= 0x55;
      assert.throws(() => Filter.fromBytes(damaged), SnapshotError, `byte ${at}`);
    }
  }
  const future = new Filter(promise).toBytes();
  future[8] = 9;
  assert.throws(() => Filter.fromBytes(future), /format version 9/);
  assert.throws(() => Filter.fromBytes("text"), TypeError);
});

test("times of the wrong kind are refused", () => {
  const recent = new Filter({ within: 1_000, capacity: 10, falsePositiveRate: 1e-3 });
  recent.advanceTo(5_000);
  assert.throws(() => recent.advanceTo(9_000_000, { maxJump: "1m" }), (error) => error instanceof JumpError && /8995000 ms ahead/.test(error.message));
  assert.equal(recent.statistics().latestMs, 5_000);
  for (const now of [-1, NaN, Infinity, new Date(NaN)]) assert.throws(() => recent.add("a", { now }), RangeError);
  assert.throws(() => recent.add("a", { now: "2020" }), TypeError);
  assert.throws(() => recent.add("a", { maxJump: 5 }), /maxJump was given without now/);
  assert.throws(() => new Filter(promise).add("a", { now: 5 }), /count window has no clock/);
  assert.equal(recent.statistics().inserts, 0);
  recent.add("late", { now: 4_000 });
  assert.deepEqual([recent.statistics().backwardSteps, recent.statistics().latestMs], [1, 5_000]);
});

test("ages, clear and free", () => {
  const seen = new Filter(promise);
  seen.addMany(["a", ...Array.from({ length: 500 }, (_, index) => index)]);
  const { inserts: [least, most], millis } = seen.ageOf("a");
  assert.ok(least <= 500 && most >= 500 && millis === null);
  assert.equal(seen.ageOf("stranger"), null);
  seen.clear();
  assert.deepEqual([seen.has("a"), seen.statistics().inserts], [false, 0]);
  seen.free();
  seen.free();
  for (const call of [() => seen.add("a"), () => seen.toBytes(), () => seen.memoryBytes]) assert.throws(call, /was freed/);
});

test("memory that is not there is an error, and the module lives on", () => {
  assert.throws(() => new Filter({ window: 2e9, falsePositiveRate: 1e-9 }), RangeError);
  const seen = new Filter(promise);
  assert.equal(seen.checkAndAdd("a"), false);
});

test("dedup passes each new element on as soon as it arrives", async () => {
  const hooks = [{ id: 1, try: 1 }, { id: 2, try: 1 }, { id: 1, try: 2 }];
  const key = (hook) => hook.id;
  assert.deepEqual([...dedup(hooks, { key, ...promise })], hooks.slice(0, 2));
  async function* stream() {
    yield* hooks;
  }
  const passed = [];
  for await (const hook of dedup(stream(), { key, ...promise })) passed.push(hook);
  assert.deepEqual(passed, hooks.slice(0, 2));
  const endless = dedup((function* () { for (let n = 0; ; n++) yield n % 5; })(), promise);
  assert.deepEqual([endless.next().value, endless.next().value], [0, 1]);
  const filter = new Filter(promise);
  filter.add("a");
  assert.deepEqual([...dedup(["a", "b"], { filter })], ["b"]);
  const late = { refresh: "first", within: 100, capacity: 10, falsePositiveRate: 1e-6, time: (n) => n * 60, key: () => "same" };
  assert.ok([...dedup([0, 1, 2, 3, 4, 5, 6, 7, 8], late)].length > 2);
  assert.throws(() => dedup(["a"], { refresh: "never", ...promise }), /refresh = 'never'/);
  assert.throws(() => dedup(["a"], { filter, window: 5 }), /no effect: window/);
  assert.throws(() => dedup(5, promise), TypeError);
  assert.throws(() => dedup(["a"]), ConfigError);
});
