// `dedup`: an iterable without the elements that were seen lately.
import { Filter } from "./filter.js";

const itself = (element) => element;

export function dedup(iterable, { key = itself, refresh = "every", time, filter, ...promise } = {}) {
  if (refresh !== "every" && refresh !== "first") {
    throw new RangeError(`refresh = '${refresh}' is not possible: give 'every' or 'first'`);
  }
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
