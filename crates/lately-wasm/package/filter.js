// Filters. `index.d.ts` documents them.
import { attempt, input, release, replyBytes, replyNumbers, wasm } from "./core.js";
import { kindOf, writeItem, writeItems } from "./items.js";
import { span, writeOptions } from "./options.js";
import { ageOf, factsOf, planOf, plansOf, statisticsOf } from "./report.js";

const [ADD, HAS, CHECK_AND_ADD, CHECK_OR_ADD] = [0, 1, 2, 3];
const NOTHING = Object.freeze({});
/** Says to the constructor that the module has made the filter already. */
const MADE = Symbol("made");

/** Filters that nobody can reach are freed in the module too. */
const unreachable = new FinalizationRegistry((number) => wasm.filter_free(number));

/** Times are an object: a Date or a number in its place would be ignored without a word. */
function checkTimes(times, names) {
  if (typeof times !== "object" || times === null || times instanceof Date) {
    throw new TypeError(`${times instanceof Date ? "a Date" : String(times)} is not possible here: give an object, for example { now: new Date() }`);
  }
  const unknown = Object.keys(times).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`there is no option '${unknown}' here: give ${names.join(" or ")}`);
}
const TIMES = ["now", "maxJump"];
const MANY = [...TIMES, "itemBytes"];

function millisOf(now) {
  const millis = now instanceof Date ? now.getTime() : now;
  if (typeof millis !== "number") throw new TypeError(`now cannot be of type ${typeof now}: give a Date, or milliseconds`);
  if (!(millis >= 0 && millis <= Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(`now = ${millis} is not possible: give a Date, or milliseconds from 0 to ${Number.MAX_SAFE_INTEGER}`);
  }
  return millis;
}

export class Filter {
  #number;
  #isTimed;

  constructor(options, made) {
    this.#number = options === MADE ? made : attempt(wasm.filter_new(writeOptions("new Filter", options)));
    this.#isTimed = this.#facts().isTimeWindow;
    unreachable.register(this, this.#number, this);
  }

  static fromBytes(snapshot) {
    if (kindOf(snapshot) !== "Uint8Array") throw new TypeError("fromBytes takes a Uint8Array, for example the content of a file");
    try {
      input(snapshot.length).set(snapshot);
      return new Filter(MADE, attempt(wasm.filter_from_bytes(snapshot.length)));
    } finally {
      release();
    }
  }

  add(item, times = NOTHING) {
    this.#apply(ADD, item, times);
  }
  has(item, times = NOTHING) {
    return this.#apply(HAS, item, times);
  }
  checkAndAdd(item, times = NOTHING) {
    return this.#apply(CHECK_AND_ADD, item, times);
  }
  checkOrAdd(item, times = NOTHING) {
    return this.#apply(CHECK_OR_ADD, item, times);
  }
  addMany(items, options = NOTHING) {
    this.#applyMany(ADD, items, options);
  }
  hasMany(items, options = NOTHING) {
    return this.#applyMany(HAS, items, options);
  }
  checkAndAddMany(items, options = NOTHING) {
    return this.#applyMany(CHECK_AND_ADD, items, options);
  }
  checkOrAddMany(items, options = NOTHING) {
    return this.#applyMany(CHECK_OR_ADD, items, options);
  }

  ageOf(item, times = NOTHING) {
    const moment = this.#momentOf(times);
    const length = writeItem(item);
    this.#tick(moment, false);
    const found = attempt(wasm.filter_age_of(this.#number, length));
    return found ? ageOf(replyNumbers()) : null;
  }

  advanceTo(now, options = NOTHING) {
    checkTimes(options, ["maxJump"]);
    if (now === undefined) throw new TypeError("advanceTo needs a time: give a Date, or milliseconds");
    this.#tick(this.#momentOf({ now, maxJump: options.maxJump }), false);
  }

  get guaranteedWindow() {
    return this.#facts().guaranteedWindow;
  }
  get guaranteedSpanMs() {
    return this.#facts().guaranteedSpanMs;
  }
  get memoryBytes() {
    return this.#facts().memoryBytes;
  }
  get clock() {
    return this.#facts().clock;
  }
  get hash() {
    return this.#facts().hash;
  }

  plan() {
    attempt(wasm.filter_plan(this.#number));
    return planOf(replyNumbers());
  }
  statistics() {
    attempt(wasm.filter_statistics(this.#number));
    return statisticsOf(replyNumbers());
  }
  toBytes() {
    attempt(wasm.filter_to_bytes(this.#number));
    return replyBytes();
  }
  copy() {
    return new Filter(MADE, attempt(wasm.filter_copy(this.#number)));
  }
  clear() {
    attempt(wasm.filter_clear(this.#number));
  }

  free() {
    unreachable.unregister(this);
    wasm.filter_free(this.#number);
    this.#number = -1;
  }

  #facts() {
    attempt(wasm.filter_facts(this.#number));
    return factsOf(replyNumbers());
  }

  /** Reads the caller's times; undefined if there are none. They are read before anything is written: they may have getters. */
  #momentOf(times, names = TIMES) {
    if (times === NOTHING) return undefined;
    checkTimes(times, names);
    const { now, maxJump } = times;
    if (now === undefined && maxJump === undefined) return undefined;
    if (now === undefined) throw new TypeError("maxJump was given without now: leave it out, or give now");
    const moment = { millis: millisOf(now), jump: maxJump === undefined ? -1 : span("maxJump", maxJump) };
    if (!this.#isTimed) {
      throw new TypeError("now was given, but a count window has no clock: leave it out, or build the filter with within");
    }
    return moment;
  }

  /** Advances to the caller's time. If no caller has ever given one, advances to the system's. */
  #tick(moment, adds) {
    if (moment !== undefined) attempt(wasm.filter_advance(this.#number, moment.millis, moment.jump));
    else if (this.#isTimed) attempt(wasm.filter_follow_system(this.#number, Date.now(), adds ? 1 : 0));
  }

  #apply(operation, item, times) {
    const moment = this.#momentOf(times);
    // An item that is refused does not advance the clock.
    const length = writeItem(item);
    this.#tick(moment, operation !== HAS);
    return attempt(wasm.filter_apply(this.#number, operation, length)) === 1;
  }

  #applyMany(operation, items, options) {
    const moment = this.#momentOf(options, MANY);
    const { itemBytes } = options;
    try {
      const { call, length, more, isColumn } = writeItems(items, itemBytes);
      this.#tick(moment, operation !== HAS);
      attempt(wasm[call](this.#number, operation, length, more));
      if (operation === ADD) return undefined;
      const seen = replyBytes();
      return isColumn ? seen : Array.from(seen, (one) => one === 1);
    } finally {
      release();
    }
  }
}

if (Symbol.dispose) Filter.prototype[Symbol.dispose] = Filter.prototype.free;

export function plan(options) {
  if (options?.seed !== undefined || options?.key !== undefined) {
    throw new TypeError("plan takes no seed and no key: leave them out, a plan does not depend on them");
  }
  attempt(wasm.plans(writeOptions("plan", options)));
  return plansOf(replyNumbers());
}
