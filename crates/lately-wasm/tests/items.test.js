// The bytes of items, one by one and in columns.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Filter, itemBytes } from "./subject.js";

const fresh = () => new Filter({ window: 10_000, falsePositiveRate: 1e-9 });
const text = (item) => new TextDecoder().decode(itemBytes(item));

test("values with equal bytes are the same item", () => {
  const seen = fresh();
  seen.add(17);
  for (const same of ["17", 17n, new TextEncoder().encode("17"), [17], new Uint8Array([49, 55]).buffer]) {
    assert.ok(seen.has(same), String(same));
  }
  assert.ok(!seen.has("017"));
  assert.equal(text(["user-5", 17]), "6:user-5,2:17,");
  assert.equal(text([["a", "b"], -4n]), "8:1:a,1:b,,2:-4,");
  assert.equal(text(-0), "0");
  assert.equal(text("ünï"), "ünï");
  assert.equal(text(2n ** 80n), "1208925819614629174706176");
});

test("texts of every length and script are their UTF-8", () => {
  const seen = fresh();
  const texts = ["", "a", "é", "日本語", "😀", "x".repeat(64), "x".repeat(65), "ü".repeat(64), "ü".repeat(5_000), "a".repeat(100_000)];
  for (const item of texts) {
    assert.equal(seen.checkAndAdd(item), false);
    assert.ok(seen.has(new TextEncoder().encode(item)), `${item.length}`);
  }
  assert.deepEqual(seen.hasMany(texts), texts.map(() => true));
});

test("a column, a list and single calls answer the same and leave the same bits", () => {
  const numbers = Array.from({ length: 5_000 }, (_, index) => (index * index) % 4_001);
  const single = fresh();
  const expected = numbers.map((number) => single.checkAndAdd(number));
  const forms = {
    numbers,
    texts: numbers.map(String),
    set: (function* () { yield* numbers; })(),
    Uint16Array: Uint16Array.from(numbers),
    Int16Array: Int16Array.from(numbers),
    Uint32Array: Uint32Array.from(numbers),
    Int32Array: Int32Array.from(numbers),
    BigUint64Array: BigUint64Array.from(numbers, BigInt),
    BigInt64Array: BigInt64Array.from(numbers, BigInt),
  };
  for (const [name, items] of Object.entries(forms)) {
    const seen = fresh();
    const answers = seen.checkAndAddMany(items);
    assert.deepEqual(Array.from(answers, Boolean), expected, name);
    assert.deepEqual(seen.toBytes(), single.toBytes(), name);
  }
  const extremes = fresh();
  extremes.addMany(BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, -1n));
  extremes.addMany(BigUint64Array.of(2n ** 64n - 1n));
  extremes.addMany(Int8Array.of(-128, 127));
  assert.ok(["-9223372036854775808", "9223372036854775807", "-1", "18446744073709551615", -128, 127].every((item) => extremes.has(item)));
});

test("a Uint8Array holds items of a fixed length", () => {
  const seen = fresh();
  const digests = new TextEncoder().encode("aaaabbbbaaaacccc");
  assert.deepEqual([...seen.checkAndAddMany(digests, { itemBytes: 4 })], [0, 0, 1, 0]);
  assert.ok(seen.has("cccc"));
  assert.throws(() => seen.addMany(digests), /give itemBytes/);
  assert.throws(() => seen.addMany(digests, { itemBytes: 5 }), /16 bytes are not a whole number of items of 5 bytes/);
  assert.throws(() => seen.addMany(digests, { itemBytes: 0 }), /itemBytes = 0/);
  assert.throws(() => seen.addMany(["a"], { itemBytes: 1 }), /itemBytes is for a Uint8Array/);
});

test("what is no item is refused, and nothing is added", () => {
  const seen = fresh();
  for (const wrong of [1.5, NaN, Infinity, 2 ** 53, true, null, undefined, {}, [], [[]], Symbol("a"), () => 1, "\ud800", "x".repeat(99) + "\udc00", new Date(0), [1.5]]) {
    assert.throws(() => seen.add(wrong), TypeError);
    assert.throws(() => seen.addMany(["fine", wrong]), (error) => error instanceof TypeError && error.message.startsWith("item 1: "));
  }
  for (const wrong of ["text", 5, null, undefined, {}, new Float64Array(2)]) {
    assert.throws(() => seen.addMany(wrong), TypeError);
  }
  assert.equal(seen.statistics().inserts, 0);
});

test("empty batches do nothing, large ones give their memory back", () => {
  const seen = fresh();
  assert.deepEqual(seen.checkAndAddMany([]), []);
  assert.deepEqual([...seen.checkAndAddMany(new BigUint64Array(0))], []);
  assert.equal(seen.addMany([]), undefined);
  const numbers = BigUint64Array.from({ length: 600_000 }, (_, index) => BigInt(index));
  assert.equal(seen.checkAndAddMany(numbers).length, 600_000);
  assert.ok(seen.has(599_999) && seen.checkAndAdd("after") === false);
});
