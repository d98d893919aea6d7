// Numbers and spans as people write and read them.
const COUNTS = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const BYTES = { "": 1, B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

function quantity(text, units, examples) {
  const [, number, unit] = /^\s*([0-9][0-9_.]*(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*$/.exec(text) ?? [];
  const value = number === undefined ? NaN : Number(number.replaceAll("_", "")) * (units[unit] ?? NaN);
  if (Number.isNaN(value)) throw new RangeError(`'${text}' is not understood: write for example ${examples}`);
  return value;
}

export const countOf = (text) => Math.round(quantity(text, COUNTS, "5000, 250k, 1M or 1e6"));
export const bytesOf = (text) => Math.round(quantity(text, BYTES, "500kB, 64MiB or 2GiB"));
export const numberOf = (text) => quantity(text, { "": 1 }, "1e-4 or 0.1");

export const plain = (number) => number.toLocaleString("en-US", { maximumFractionDigits: 0 });
export const digits = (number, count = 3) => Number(number.toPrecision(count)).toLocaleString("en-US", { maximumSignificantDigits: count });

/** 1234567 is "1.23 million"; small numbers are exact. */
export function human(number) {
  for (const [size, word] of [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]]) {
    if (number >= size) return `${digits(number / size)} ${word}`;
  }
  return number < 1e4 ? digits(number, 4) : plain(number).replaceAll(",", " ");
}

export function humanBytes(bytes) {
  for (const [size, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (bytes >= size) return `${digits(bytes / size)} ${unit}`;
  }
  return `${plain(bytes)} bytes`;
}

export const scientific = (rate) => rate.toExponential(2).replace(/\.?0+e/, "e");

/** 1e-4 is "one in 10 000". */
export const oneIn = (rate) => `one in ${human(Number((1 / rate).toPrecision(2)))}`;

export function humanSpan(millis) {
  for (const [size, word] of [[604_800_000, "week"], [86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"], [1000, "second"]]) {
    if (millis >= size && (millis % size === 0 || millis > 20 * size)) {
      const number = digits(millis / size);
      return number === "1" ? `a ${word}`.replace("a hour", "an hour") : `${number} ${word}s`;
    }
  }
  return `${plain(millis)} milliseconds`;
}
