// What callers should not pass, and do: it is refused in one sentence or works, and no filter is the worse for it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { fuzz, tolerate } from "./fuzz.js";
import { ConfigError, Filter, SnapshotError, dedup, itemBytes, plan } from "./subject.js";

const promise = { window: 1_000, falsePositiveRate: 1e-6 };
const timed = { within: 1_000, capacity: 100, falsePositiveRate: 1e-6 };

test("getters and iterators that call the package themselves change nothing", () => {
  const [seen, other] = [new Filter(timed), new Filter(promise)];
  const meddle = () => other.addMany(["something else that is longer", 5n, new Uint8Array(9)]);
  seen.add("a", { get now() { return meddle(), 5; } });
  seen.addMany(["b", "c"], { get now() { return meddle(), 6; }, get maxJump() { return meddle(), 100; } });
  seen.addMany((function* () { meddle(); yield "d"; seen.add("e", { now: 7 }); yield "f"; })(), { now: 8 });
  seen.add(new Proxy(["g", 1], { get(target, name) { meddle(); return target[name]; } }), { now: 8 });
  assert.deepEqual(["a", "b", "c", "d", "e", "f", ["g", 1], "something", "yield"].map((item) => seen.has(item)), [true, true, true, true, true, true, true, false, false]);
  assert.equal(seen.statistics().inserts, 7);
  const now = new (class extends Date { getTime() { meddle(); return 9; } })();
  assert.equal(seen.ageOf("a", { now }).inserts[0] <= 6, true);
});

test("an iterable that fails adds nothing, and its error is the caller's", () => {
  const seen = new Filter(promise);
  const failing = function* () { yield "a"; throw new Error("mine"); };
  assert.throws(() => seen.addMany(failing()), /^Error: mine$/);
  assert.throws(() => seen.addMany(["a", null]), /item 1: null is not an item/);
  assert.throws(() => seen.addMany({ [Symbol.iterator]: () => 5 }), TypeError);
  assert.throws(() => [...dedup(failing(), promise)], /mine/);
  assert.deepEqual([seen.has("a"), seen.statistics().inserts], [false, 0]);
});

test("bytes that were transferred are refused: they would all be the empty item", () => {
  const seen = new Filter(promise);
  const gone = (array) => { structuredClone(array.buffer, { transfer: [array.buffer] }); return array; };
  const item = gone(new Uint8Array(3));
  for (const call of [() => seen.add(item), () => seen.add(item.buffer), () => seen.add(["a", item]), () => seen.addMany(item, { itemBytes: 1 }), () => seen.addMany(gone(new BigUint64Array(3))), () => itemBytes(item)]) {
    assert.throws(call, (error) => error instanceof TypeError && /transferred/.test(error.message));
  }
  assert.throws(() => Filter.fromBytes(item), TypeError);
  assert.throws(() => new Filter({ ...promise, key: gone(new Uint8Array(16)) }), ConfigError);
  assert.equal(seen.statistics().inserts, 0);
});

test("shared memory, and arrays of another realm, are bytes like others", () => {
  const seen = new Filter(promise);
  const shared = new Uint8Array(new SharedArrayBuffer(2));
  shared.set([49, 55]);
  seen.add(shared);
  const [bytes, buffer, view, column, snapshot] = runInNewContext("[new Uint8Array([49, 55]), new Uint8Array([49, 55]).buffer, new DataView(new Uint8Array([49, 55]).buffer), new BigUint64Array([17n]), (bytes) => new Uint8Array(bytes)]");
  for (const same of ["17", bytes, buffer, view]) assert.ok(seen.has(same));
  assert.deepEqual([...seen.hasMany(column)], [1]);
  assert.ok(Filter.fromBytes(snapshot([...seen.toBytes()])).has(17));
  assert.throws(() => seen.add({ [Symbol.toStringTag]: "Uint8Array" }), /object is not an item/);
  assert.throws(() => seen.add({ [Symbol.toStringTag]: "ArrayBuffer" }), /object is not an item/);
});

test("a time in the wrong place is refused, not ignored", () => {
  const seen = new Filter(timed);
  for (const times of [5, Date.now(), new Date(), "now", null, true, { time: 5 }, { nov: 5 }, [5], { now: 5, itemBytes: 3 }]) {
    assert.throws(() => seen.add("a", times), TypeError, String(times));
    assert.throws(() => seen.ageOf("a", times), TypeError, String(times));
  }
  assert.throws(() => seen.addMany(["a"], new Date()), TypeError);
  assert.throws(() => seen.addMany(["a"], { at: 5 }), /no option 'at'/);
  assert.throws(() => seen.advanceTo(), /advanceTo needs a time/);
  assert.throws(() => seen.advanceTo(5, "1d"), TypeError);
  assert.throws(() => dedup(["a"], null), /dedup takes an iterable and an object/);
  assert.throws(() => dedup(["a"], { ...promise, key: new Uint8Array(16) }), /for a secret key, give filter/);
  assert.throws(() => dedup(["a"], { ...promise, time: 5 }), /time is a function/);
  assert.deepEqual([seen.clock, seen.statistics().inserts], ["unset", 0]);
});

test("a keyed hash is one word", () => {
  const key = crypto.getRandomValues(new Uint8Array(16));
  const seen = new Filter({ ...promise, key });
  assert.deepEqual([seen.hash, new Filter(promise).hash], ["siphash13", "xxh3"]);
  seen.add("a");
  assert.ok(Filter.fromBytes(seen.toBytes()).has("a"));
  assert.deepEqual([...dedup(["a", "b", "b"], { filter: seen })], ["b"]);
});

test("an array that contains itself is refused", () => {
  const item = ["a"];
  item.push(item);
  assert.throws(() => new Filter(promise).add(item), /does an array contain itself/);
});

test("filters that are used while memory grows keep their items", () => {
  const seen = new Filter(promise);
  seen.add("first");
  const view = seen.toBytes();
  const others = Array.from({ length: 20 }, (_, index) => {
    const other = new Filter({ window: 100_000 * (index + 1), falsePositiveRate: 1e-3 });
    other.addMany(Uint32Array.from({ length: 1_000 }, (_, number) => number * (index + 1)));
    return other;
  });
  assert.ok(seen.has("first") && Filter.fromBytes(view).has("first"));
  others.forEach((other, index) => assert.ok(other.has(999 * (index + 1))));
  others.forEach((other) => other.free());
});

const ODD = [undefined, null, true, NaN, Infinity, -Infinity, -0, -1, 0, 1, 2, 5, 17, 1.5, 1e-300, 1e-9, 1e-3, 0.5, 0.999, 100, 5_000, 2 ** 31, 2 ** 32, 2 ** 52, 2 ** 53, 1e300, -5n, 0n, 7n, 2n ** 64n, 2n ** 100n, "", "5", "1h", "99999999999999w", "rows", "bins", "slices", "blocks", "memory", "speed", "keep_rate", "keep_window", "\ud800", "constructor", "__proto__", [], [1], [1, 5], [3, 5], [2 ** 40, 1], [0, 0], {}, () => 5, Symbol("s"), new Date(5), new Date(NaN), new Uint8Array(0), new Uint8Array(16), new Uint8Array(17), new ArrayBuffer(3), new Float64Array(3), new BigInt64Array(3), new Map([[1, 2]]), new Set(["a"]), new Proxy({}, {}), new Proxy([1, 5], {})];
const NAMES = ["window", "within", "capacity", "falsePositiveRate", "maxSlack", "maxMemory", "shape", "layout", "prefer", "overload", "seed", "key"];

fuzz("options, items and times at random: a filter or a clear error", (random) => {
  const options = { falsePositiveRate: 1e-3, maxMemory: 1e6, ...(random() < 0.5 ? { window: 500 } : { within: 1_000 }) };
  for (let count = random.below(4); count > 0; count--) options[random() < 0.97 ? random.of(NAMES) : String(random.of(["x", "windows", 5]))] = random.of(ODD);
  if (random() < 0.2) delete options[random.of(NAMES)];
  tolerate(() => plan(options));
  const seen = tolerate(() => new Filter(options));
  if (seen === undefined || seen.memoryBytes > 2e6) return void seen?.free();
  const times = () => (random() < 0.5 ? undefined : { now: random.of(ODD), ...(random() < 0.2 ? { maxJump: random.of(ODD) } : {}) });
  for (let call = 0; call < 20; call++) {
    const item = random() < 0.7 ? random.of(ODD) : [random.of(ODD), random.of(ODD)];
    const method = random.of(["add", "has", "checkAndAdd", "checkOrAdd", "ageOf", "addMany", "hasMany", "checkAndAddMany", "checkOrAddMany"]);
    const before = seen.statistics().inserts;
    const failed = tolerate(() => (seen[method](item, times()), true)) === undefined;
    if (failed) assert.equal(seen.statistics().inserts, before, method);
    else if (/^(add|check)/.test(method)) assert.ok(seen.statistics().inserts >= before);
  }
  assert.equal(seen.statistics().inserts >= 0, true);
  seen.free();
});

fuzz("damaged snapshots are refused", (random) => {
  const seen = new Filter(random.of([promise, { ...timed, layout: "rows" }, { within: 1_000, falsePositiveRate: 1e-3 }, { ...promise, layout: "slices", key: new Uint8Array(16) }]));
  seen.addMany(Array.from({ length: random.below(300) }, (_, index) => index));
  const bytes = seen.toBytes();
  const damaged = bytes.slice(0, random() < 0.3 ? random.below(bytes.length + 1) : bytes.length);
  for (let count = random.below(4); count > 0 && damaged.length > 0; count--) damaged[random() < 0.5 ? random.below(Math.min(160, damaged.length)) : random.below(damaged.length)] ^= 1 << random.below(8);
  const isSame = Buffer.compare(damaged, bytes) === 0;
  if (isSame) assert.deepEqual(Filter.fromBytes(damaged).toBytes(), bytes);
  else assert.throws(() => Filter.fromBytes(damaged), (error) => error instanceof SnapshotError || (error instanceof RangeError && /cannot allocate/.test(error.message)));
  seen.free();
});

fuzz("whatever was called before, the last items are known", (random) => {
  const window = 1 + random.below(300);
  const seen = new Filter({ window, falsePositiveRate: random.of([0.1, 1e-3, 1e-6]), layout: random.of([undefined, "bins", "rows", "slices", "blocks"]) });
  const added = [];
  for (let call = 0; call < 60; call++) {
    const items = Array.from({ length: 1 + random.below(20) }, () => random.of([random.below(1_000), `ü${random.below(1_000)}`, ["a", random.below(1_000)], BigInt(random.below(1_000))]));
    if (random() < 0.5) seen.addMany(items);
    else items.forEach((item) => seen.add(item));
    added.push(...items);
    tolerate(() => seen.add(random.of(ODD.slice(0, 5))));
    if (added.length > window) added.splice(0, added.length - window);
    if (seen.statistics().inserts % 3 === 0) assert.ok(Filter.fromBytes(seen.toBytes()).hasMany(added.slice(-window)).every(Boolean));
  }
  seen.free();
});
