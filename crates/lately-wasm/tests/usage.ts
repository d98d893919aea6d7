// Compiled by types.test.js, not run: everything that index.d.ts declares, as users call it, and what it must refuse.
import { ConfigError, Filter, JumpError, SnapshotError, dedup, itemBytes, plan } from "lately-filter";
import type { AgeRange, Column, DedupOptions, FilterOptions, Item, Items, Layout, ManyOptions, Overload, Plan, Prefer, Promised, Span, Statistics, Times } from "lately-filter";

/** Fails to compile unless the value has exactly this type. */
function is<Wanted>() {
  return <Given>(_: Given, ..._same: [Wanted] extends [Given] ? ([Given] extends [Wanted] ? [] : [never]) : [never]) => {};
}

const promise: Promised = { window: 1e6, falsePositiveRate: 1e-4, maxSlack: 0.1, maxMemory: 10n ** 7n, shape: [3, 5] as const, prefer: "speed" };
const options: FilterOptions = { ...promise, layout: "bins", seed: 5n };
const timed: FilterOptions = { within: "1h30m", capacity: 1_000n, falsePositiveRate: 1e-3, overload: "keep_rate", key: new Uint8Array(16) };
const span: Span = 500;
const names: [Layout, Prefer, Overload] = ["slices", "memory", "keep_window"];
const seen = new Filter(options);
is<Filter>()(seen);

const items: Item[] = ["a", 17, 17n, new Uint8Array(3), new ArrayBuffer(3), new DataView(new ArrayBuffer(3)), ["user", 5, ["deep", 6n]] as const];
for (const item of items) {
  is<void>()(seen.add(item));
  is<boolean>()(seen.has(item));
  is<boolean>()(seen.checkAndAdd(item, { now: new Date() }));
  is<boolean>()(seen.checkOrAdd(item, { now: 5, maxJump: "1d" }));
  is<AgeRange | null>()(seen.ageOf(item, { now: 5 }));
  is<Uint8Array>()(itemBytes(item) as Uint8Array);
}
const times: Times = { now: 5, maxJump: 1_000 };
const many: ManyOptions = { ...times, itemBytes: 32 };
is<void>()(seen.addMany(new Uint8Array(64), many));
is<boolean[]>()(seen.hasMany(["a", 5, 6n]));
is<boolean[]>()(seen.hasMany(new Set(["a"])));
is<boolean[]>()(seen.checkAndAddMany(items.values()));
is<boolean[]>()(seen.checkOrAddMany((function* () { yield "a"; })()));
is<Uint8Array>()(seen.hasMany(BigUint64Array.of(5n)) as Uint8Array);
is<Uint8Array>()(seen.checkAndAddMany(new Int32Array(5)) as Uint8Array);
is<Uint8Array>()(seen.checkOrAddMany(new Uint8Array(32), { itemBytes: 16 }) as Uint8Array);
const column: Column = new BigInt64Array(3);
seen.addMany(column);
const list: Items<string[]> = ["a"];
seen.addMany(list);
seen.addMany(items);

seen.advanceTo(new Date(), { maxJump: span });
is<number>()(seen.guaranteedWindow);
is<number | null>()(seen.guaranteedSpanMs);
is<number>()(seen.memoryBytes);
is<"unset" | "system" | "events">()(seen.clock);
is<"xxh3" | "siphash13">()(seen.hash);
is<Plan>()(seen.plan());
is<Plan[]>()(plan(promise));
is<number>()(plan(promise)[0]!.accesses.window);
is<Statistics>()(seen.statistics());
is<[number, number] | null | undefined>()(seen.statistics().itemsByAge[0]?.millis);
const bytes: Uint8Array = seen.toBytes();
is<Filter>()(Filter.fromBytes(bytes));
is<Filter>()(seen.copy());
seen.clear();
seen.free();
{
  using short = new Filter(promise);
  short.add("a");
}
for (const kind of [ConfigError, SnapshotError, JumpError]) is<string>()(new kind("why").message);
const range: RangeError = new ConfigError("why");

interface Hook { id: string; at: number }
declare const hooks: Hook[];
declare const stream: AsyncIterable<Hook>;
const by: DedupOptions<Hook> = { ...promise, seed: 1, key: (hook) => hook.id, time: (hook) => hook.at, refresh: "first" };
is<Generator<Hook, void, void>>()(dedup(hooks, by));
is<AsyncGenerator<Hook, void, void>>()(dedup(stream, { key: (hook) => [hook.id, hook.at], filter: seen }));
export const used = [names, range];

// What must not compile.
// @ts-expect-error: options are needed
new Filter();
// @ts-expect-error: an unknown option
new Filter({ windows: 5 });
// @ts-expect-error: a text is no number
new Filter({ window: "1000" });
// @ts-expect-error: an unknown layout
new Filter({ window: 5, layout: "heap" });
// @ts-expect-error: the key is bytes
new Filter({ window: 5, key: "secret" });
// @ts-expect-error: a pair
new Filter({ window: 5, shape: [1, 2, 3] });
// @ts-expect-error: plan takes no seed
plan({ window: 5, seed: 1 });
// @ts-expect-error: a boolean is no item
seen.add(true);
// @ts-expect-error: null is no item
seen.has(null);
// @ts-expect-error: an object is no item
seen.has({ id: 5 });
// @ts-expect-error: numbers with fractions are no items
seen.addMany(new Float64Array(5));
// @ts-expect-error: a string is one item
seen.hasMany("abc");
// @ts-expect-error: booleans are no items
seen.checkAndAddMany([true]);
// @ts-expect-error: a number is not many items
seen.addMany(5);
// @ts-expect-error: a text is no time
seen.add("a", { now: "2026" });
// @ts-expect-error: read only
seen.memoryBytes = 5;
// @ts-expect-error: a text is no snapshot
Filter.fromBytes("text");
// @ts-expect-error: refresh is one of two words
dedup(hooks, { window: 5, refresh: "never" });
// @ts-expect-error: dedup's key is a function; a secret key goes to new Filter
dedup(hooks, { window: 5, key: new Uint8Array(16) });
// @ts-expect-error: the key of a hook is an item
dedup(hooks, { window: 5, key: (hook) => hook });
