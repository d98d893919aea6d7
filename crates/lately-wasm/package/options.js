// The options that describe a filter: their types, and how they go to the module. The module checks their values.
import { ConfigError } from "./errors.js";
import { names, writeNumbers } from "./core.js";
import { kindOf } from "./items.js";

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

function count(name, value) {
  if (typeof value === "bigint") value = Number(value);
  if (typeof value !== "number") throw new TypeError(`${name} cannot be of type ${typeof value}: give a whole number, for example 1e6`);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new ConfigError(`${name} = ${value} is not possible: give a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`);
  }
  return value;
}

function fraction(name, value) {
  if (typeof value !== "number") throw new TypeError(`${name} cannot be of type ${typeof value}: give a number, for example 1e-4`);
  // NaN would mean that nothing was asked for.
  if (Number.isNaN(value)) throw new ConfigError(`${name} = NaN is not possible: give a number, for example 1e-4`);
  return value;
}

/** Milliseconds, or a text such as "500ms", "30s", "1h30m", "7d" or "2w". */
export function span(name, value) {
  if (typeof value !== "string") return count(name, value);
  const parts = [...value.matchAll(/(\d+)(ms|[smhdw])/g)];
  const millis = parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit], 0);
  const isOrdered = parts.every(([, , unit], index) => index === 0 || UNITS[unit] < UNITS[parts[index - 1][2]]);
  if (value === "" || parts.map(([part]) => part).join("") !== value || !isOrdered) {
    throw new ConfigError(`${name} = '${value}' is not possible: write for example '500ms', '30s', '1h30m', '7d' or '2w'`);
  }
  if (!Number.isSafeInteger(millis)) throw new ConfigError(`${name} = '${value}' is not possible: give at most ${Number.MAX_SAFE_INTEGER} milliseconds`);
  return millis;
}

function place(name, value) {
  const index = names[name].indexOf(value);
  if (index < 0) {
    const possible = names[name].map((word) => `'${word}'`).join(" or ");
    throw new ConfigError(`${name} = ${typeof value === "string" ? `'${value}'` : String(value)} is not possible: give ${possible}`);
  }
  return index;
}

function shape(name, value) {
  if (!Array.isArray(value) || value.length !== 2) throw new TypeError(`${name} is the pair [k, l], for example [12, 14]`);
  return value.map((one) => count(name, one));
}

function secret({ seed, key }) {
  if (seed !== undefined && key !== undefined) {
    throw new ConfigError("seed and key were both given: a seed is for the default hash, a key for SipHash; give only one");
  }
  if (seed !== undefined) {
    const isWhole = typeof seed === "bigint" || Number.isSafeInteger(seed);
    if (!isWhole || seed < 0 || BigInt(seed) >= 2n ** 64n) {
      throw new ConfigError(`seed = ${String(seed)} is not possible: give a whole number from 0, or a bigint below 2n ** 64n`);
    }
    return new Uint8Array(BigUint64Array.of(BigInt(seed)).buffer);
  }
  if (key === undefined) return undefined;
  // The message never shows the key itself.
  if (kindOf(key) !== "Uint8Array") throw new TypeError("key is a Uint8Array of 16 secret bytes: crypto.getRandomValues(new Uint8Array(16))");
  if (key.length !== 16) throw new ConfigError(`a key of ${key.length} bytes is not possible: give exactly 16`);
  return key;
}

/** Each option, in the module's order, with the check of its type. */
const PROMISE = {
  window: count,
  within: span,
  capacity: count,
  falsePositiveRate: fraction,
  maxSlack: fraction,
  maxMemory: count,
  shape,
  layout: place,
  prefer: place,
  overload: place,
};

/** The options of `new Filter`. */
export const OPTIONS = [...Object.keys(PROMISE), "seed", "key"];

/** Writes options to the module's input, after some numbers; returns the length. Undefined is an option that is not given. */
export function writeOptions(call, options, before = []) {
  if (options === null || typeof options !== "object") {
    throw new TypeError(`${call} takes an object, for example { window: 1e6, falsePositiveRate: 1e-4 }`);
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw new TypeError(`${call} has no option '${unknown}': it has ${OPTIONS.join(", ")}`);
  const numbers = Object.entries(PROMISE).flatMap(([name, check]) => {
    const value = options[name];
    if (value === undefined) return name === "shape" ? [NaN, NaN] : NaN;
    return check(name, value);
  });
  const hash = secret(options);
  return writeNumbers([...before, ...numbers, hash?.length ?? NaN], hash);
}
