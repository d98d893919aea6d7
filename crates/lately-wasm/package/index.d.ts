/// <reference lib="esnext.disposable" />
/** Something that identifies what was seen. Values with equal bytes are the same item in every front-end of lately. */
export type Item = string | number | bigint | Uint8Array | ArrayBuffer | DataView | readonly Item[];
/** Many items in one typed array of integers. A Uint8Array is a list of items of `itemBytes` bytes. */
export type Column =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array;
/** An iterable of items. A string is one item, and numbers with fractions are no items. */
export type Items<T> = T extends string | Column | Float32Array | Float64Array ? never : T;
/** Milliseconds, or a text such as "500ms", "30s", "1h30m", "7d" or "2w". */
export type Span = number | string;
export type Layout = "slices" | "blocks" | "rows" | "bins";
export type Prefer = "balanced" | "speed" | "memory";
export type Overload = "keep_window" | "keep_rate";

/** What a filter has to keep. */
export interface Promised {
  /** Never forget the last this many inserts. */
  window?: number | bigint;
  /** Never forget the inserts of this span of time. Without `capacity`, the memory follows the traffic. */
  within?: Span;
  /** The most different items that you expect in the span, in whatever bursts they come. */
  capacity?: number | bigint;
  /** At most this share of new items is mistaken for known ones. */
  falsePositiveRate?: number;
  /** At most so many expired items are still reported, as a share of the window. */
  maxSlack?: number;
  /** At most so many bytes. */
  maxMemory?: number | bigint;
  /** The pair [k, l]. */
  shape?: readonly [number, number];
  layout?: Layout;
  prefer?: Prefer;
  /** What a time window keeps if more arrives than its capacity. */
  overload?: Overload;
}

export interface FilterOptions extends Promised {
  /** Another hash function: filters with different seeds make different mistakes. */
  seed?: number | bigint;
  /** 16 secret bytes, for streams whose senders are hostile. A snapshot contains them. */
  key?: Uint8Array;
}

export interface Times {
  /** The time of the call, for time windows: a Date or milliseconds. Without it, the system's clock counts, unless an earlier call gave a time. */
  now?: Date | number;
  /** Refuse a time that is further ahead of the latest one. */
  maxJump?: Span;
}

export interface ManyOptions extends Times {
  /** The length of each item in a Uint8Array of items. */
  itemBytes?: number;
}

/** A filter that can be built: its shape, its size, and the predictions of the exact model. */
export interface Plan {
  /** The requested window, in inserts; for a time window its capacity. */
  window: number;
  isElastic: boolean;
  spanMs: number | null;
  overload: Overload | null;
  layout: Layout;
  /** k */
  requiredMatches: number;
  /** l */
  windowGenerations: number;
  /** b */
  parts: number;
  blockBits: number | null;
  rowBytes: number | null;
  fingerprintBits: number | null;
  /** g */
  itemsPerGeneration: number;
  guaranteedItems: number;
  cells: number;
  /** For a time window without a capacity, the most that it grows to. */
  memoryBytes: number;
  bitsPerItem: number;
  /** At the worst moment. */
  falsePositiveRate: number;
  /** Peak slack. */
  npws: number;
  /** Memory of a plain Bloom filter with the same rate, divided by the memory of this filter. */
  efficiency: number;
  accessesPerInsert: number;
  accesses: { window: number; falsePositive: number; absent: number };
}

/** How long ago an item was last added: the least and the most, both included. */
export interface AgeRange {
  inserts: [number, number];
  millis: [number, number] | null;
}

export interface Statistics {
  inserts: number;
  generation: number;
  estimatedFalsePositiveRate: number;
  estimatedDistinctItems: number;
  estimatedSpilledItems: number;
  backwardSteps: number;
  overloadedGenerations: number;
  latestMs: number | null;
  memoryBytes: number;
  peakMemoryBytes: number;
  growths: number;
  shrinks: number;
  /** Newest first. */
  fillByAge: number[];
  itemsByAge: AgeRange[];
}

/** A sliding-window Bloom filter: answers "have I seen this lately?" in fixed memory. */
export class Filter {
  /** Throws a `ConfigError` if the options cannot be kept, and a `TypeError` if one is of another type. */
  constructor(options: FilterOptions);
  /** Opens a snapshot of any front-end. Throws a `SnapshotError` if the bytes are not exactly one. */
  static fromBytes(snapshot: Uint8Array): Filter;
  add(item: Item, times?: Times): void;
  /** Returns whether the item was seen lately. */
  has(item: Item, times?: Times): boolean;
  /** Returns whether the item was seen lately, and adds it: every sighting refreshes it. */
  checkAndAdd(item: Item, times?: Times): boolean;
  /** Returns whether the item was seen lately, and adds it if it was not: only the first sighting counts. */
  checkOrAdd(item: Item, times?: Times): boolean;
  /** The methods whose names end in Many add all of their items, or none if one of them is not an item. */
  addMany(items: Column, options?: ManyOptions): void;
  addMany<T extends Iterable<Item>>(items: Items<T>, options?: ManyOptions): void;
  /** For a typed array, returns a Uint8Array of ones and zeros; for other iterables, an array of booleans. */
  hasMany(items: Column, options?: ManyOptions): Uint8Array;
  hasMany<T extends Iterable<Item>>(items: Items<T>, options?: ManyOptions): boolean[];
  checkAndAddMany(items: Column, options?: ManyOptions): Uint8Array;
  checkAndAddMany<T extends Iterable<Item>>(items: Items<T>, options?: ManyOptions): boolean[];
  checkOrAddMany(items: Column, options?: ManyOptions): Uint8Array;
  checkOrAddMany<T extends Iterable<Item>>(items: Items<T>, options?: ManyOptions): boolean[];
  /** How long ago the item was last added, or null if it was not seen lately. */
  ageOf(item: Item, times?: Times): AgeRange | null;
  /** Advances the clock of a time window. An earlier time counts as the latest one. */
  advanceTo(now: Date | number, options?: { maxJump?: Span }): void;
  /** How many of the newest inserts are certain to be reported. */
  readonly guaranteedWindow: number;
  readonly guaranteedSpanMs: number | null;
  readonly memoryBytes: number;
  /** Whose times a time window gets. */
  readonly clock: "unset" | "system" | "events";
  readonly hash: "xxh3" | "siphash13";
  plan(): Plan;
  statistics(): Statistics;
  /** A snapshot, for `fromBytes` and for every other front-end. */
  toBytes(): Uint8Array;
  copy(): Filter;
  /** Forgets everything. */
  clear(): void;
  /** Frees the memory now instead of when the object is collected. The filter cannot be used afterwards. */
  free(): void;
  [Symbol.dispose](): void;
}

/** Returns the plans that keep a promise, best first, without building a filter. */
export function plan(options: Promised): Plan[];

/** Returns the bytes of an item. */
export function itemBytes(item: Item): Uint8Array;

export interface DedupOptions<T> extends Promised {
  seed?: number | bigint;
  /**
   * Returns the item that identifies an element; by default the element itself. For a secret key, pass
   * `filter: new Filter({ key, ... })`.
   */
  key?: (element: T) => Item;
  /** "every" (default): every sighting refreshes. "first": only the sighting that passed counts. */
  refresh?: "every" | "first";
  /** Returns the time of an element. */
  time?: (element: T) => Date | number;
  /** An existing filter, instead of options. */
  filter?: Filter;
}

/** Yields the elements of an iterable that were not seen lately, each as soon as it arrives. */
export function dedup<T>(iterable: AsyncIterable<T>, options: DedupOptions<T>): AsyncGenerator<T, void, void>;
export function dedup<T>(iterable: Iterable<T>, options: DedupOptions<T>): Generator<T, void, void>;

/** A filter cannot be built as asked. */
export class ConfigError extends RangeError {}
/** Bytes are not exactly one valid snapshot. */
export class SnapshotError extends Error {}
/** A time is further ahead of the latest one than `maxJump`. */
export class JumpError extends RangeError {}
