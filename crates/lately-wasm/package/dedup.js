// `dedup`: an iterable without the elements that were seen lately.
import { Filter } from "./filter.js";

const itself = (element) => element;

export function dedup(iterable, options = {}) {
  if (typeof options !== "object" || options === null) throw new TypeError("dedup takes an iterable and an object, for example { window: 1e6, falsePositiveRate: 1e-4 }");
  const { key = itself, refresh = "every", time, filter, ...promise } = options;
  if (refresh !== "every" && refresh !== "first") {
    throw new RangeError(`refresh = '${refresh}' is not possible: give 'every' or 'first'`);
  }
  if (typeof key !== "function") {
    throw new TypeError("key is a function that returns the item of an element; for a secret key, give filter: new Filter({ key, ... })");
  }
  if (time !== undefined && typeof time !== "function") throw new TypeError("time is a function that returns the time of an element");
  const names = Object.keys(promise);
  if (filter !== undefined && names.length > 0) {
    throw new TypeError(`filter was given, so these options have no effect: ${names.join(", ")}; leave out filter or the options`);
  }
  if (filter !== undefined && !(filter instanceof Filter)) throw new TypeError("filter is a Filter");
  const isAsync = typeof iterable?.[Symbol.asyncIterator] === "function";
  if (!isAsync && typeof iterable?.[Symbol.iterator] !== "function") {
    throw new TypeError("dedup takes an iterable or an async iterable");
  }
  const seen = filter ?? new Filter(promise);
  const isNew = (element) => {
    const times = time === undefined ? undefined : { now: time(element) };
    const item = key(element);
    return !(refresh === "every" ? seen.checkAndAdd(item, times) : seen.checkOrAdd(item, times));
  };
  return isAsync ? asynchronous(iterable, isNew) : synchronous(iterable, isNew);
}

function* synchronous(iterable, isNew) {
  for (const element of iterable) if (isNew(element)) yield element;
}

async function* asynchronous(iterable, isNew) {
  for await (const element of iterable) if (isNew(element)) yield element;
}
