// The bytes of items: the same as in every front-end.
import { input } from "./core.js";

const encoder = new TextEncoder();

function refuse(item) {
  const kind = item === null ? "null" : Array.isArray(item) ? "an empty array" : typeof item;
  const remedies = {
    number: "give an integer up to 2^53, or its text or a bigint",
    boolean: "give a string, for example String(item)",
    undefined: "leave it out, or give a string",
    null: "leave it out, or give a string",
    "an empty array": "give the values that identify it",
  };
  const what = typeof item === "number" ? `the number ${item}` : kind;
  const remedy = remedies[kind] ?? "give a string, an integer, a Uint8Array, or an array of these, for example its id";
  return new TypeError(`${what} is not an item: ${remedy}`);
}

/** Half of a pair has no bytes, and two such strings would be the same item. */
function checkText(text) {
  if (!text.isWellFormed()) {
    throw new TypeError("this string has half of a surrogate pair, which has no bytes: repair it with toWellFormed()");
  }
  return text;
}

/** The text of an item that has one, or undefined. */
function textOf(item) {
  switch (typeof item) {
    case "string":
      return item;
    case "number":
      if (Number.isSafeInteger(item)) return String(item);
      throw refuse(item);
    case "bigint":
      return String(item);
    default:
      return undefined;
  }
}

/** The kind of a typed array, of a DataView or of an ArrayBuffer, also of another realm such as a frame or a test's sandbox. */
export const kindOf = (value) => (typeof value === "object" && value !== null && (ArrayBuffer.isView(value) || isBuffer(value)) ? value[Symbol.toStringTag] : undefined);

const byteLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get;
function isBuffer(value) {
  if (value instanceof ArrayBuffer) return true;
  if (value[Symbol.toStringTag] !== "ArrayBuffer") return false;
  try {
    byteLength.call(value);
    return true;
  } catch {
    return false;
  }
}

/** The bytes of a view or of a buffer. One that was transferred is empty, and all such would be the same item. */
function bytesOf(value) {
  const [buffer, at, length] = ArrayBuffer.isView(value) ? [value.buffer, value.byteOffset, value.byteLength] : [value, 0, undefined];
  return new Uint8Array(buffer, at, length);
}
function attachedBytesOf(value) {
  try {
    return bytesOf(value);
  } catch {
    throw new TypeError("the buffer of these bytes was transferred or has shrunk, so they are gone: pass a copy made before");
  }
}

const BYTES = ["Uint8Array", "Uint8ClampedArray", "ArrayBuffer", "DataView"];
/** The bytes of a binary item, or undefined. */
function binaryOf(item) {
  return BYTES.includes(kindOf(item)) ? attachedBytesOf(item) : undefined;
}

const DEEPEST = 100;

/**
 * Returns the bytes of an item: the UTF-8 of a string, the decimal text of an integer, the bytes of a Uint8Array; for an
 * array of several values, each as its length, a colon, its bytes and a comma.
 */
export const itemBytes = (item) => bytesAt(0, item);

function bytesAt(depth, item) {
  const text = textOf(item);
  if (text !== undefined) return encoder.encode(checkText(text));
  const binary = binaryOf(item);
  if (binary !== undefined) return Uint8Array.from(binary);
  if (!Array.isArray(item) || item.length === 0) throw refuse(item);
  if (depth > DEEPEST) throw new TypeError(`arrays in arrays, more than ${DEEPEST} deep, are not an item: does an array contain itself?`);
  if (item.length === 1) return bytesAt(depth + 1, item[0]);
  const parts = item.flatMap((value) => {
    const bytes = bytesAt(depth + 1, value);
    return [encoder.encode(`${bytes.length}:`), bytes, encoder.encode(",")];
  });
  return joined(parts);
}

function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Writes a text to a list of bytes that is long enough, and returns how many it took. */
function putText(text, target, at) {
  const { length } = text;
  // Most ids are short and plain; a call of the encoder takes longer than they do.
  if (length <= 64) {
    let index = 0;
    for (; index < length; index++) {
      const unit = text.charCodeAt(index);
      if (unit > 127) break;
      target[at + index] = unit;
    }
    if (index === length) return length;
  }
  return encoder.encodeInto(checkText(text), target.subarray(at)).written;
}

/** Writes an item to the module's input, and returns its length. */
export function writeItem(item) {
  const text = textOf(item);
  if (text !== undefined) return putText(text, input(text.length * 3), 0);
  const bytes = itemBytes(item);
  input(bytes.length).set(bytes);
  return bytes.length;
}

/** Typed arrays whose elements are integers, in the module's order. */
const COLUMNS = ["Uint8Array", "Int8Array", "Uint16Array", "Int16Array", "Uint32Array", "Int32Array", "BigUint64Array", "BigInt64Array"];

/**
 * Writes many items to the module's input. Returns the way to apply an operation to them, and whether they are a column,
 * whose answers are a column too. Nothing has happened if an item is refused.
 */
export function writeItems(items, itemBytes) {
  const binary = binaryOf(items);
  if (itemBytes !== undefined) return writeFixed(binary, itemBytes);
  if (binary !== undefined) {
    throw new TypeError(
      "bytes alone do not tell where an item ends: give itemBytes, the length of each item; or pass an array of Uint8Arrays",
    );
  }
  if (ArrayBuffer.isView(items)) return writeColumn(items);
  if (typeof items === "string") throw new TypeError("a string is one item: pass an array of strings");
  if (typeof items?.[Symbol.iterator] !== "function") {
    throw new TypeError("many items are an array, another iterable, or a typed array; for one item, call the method without Many");
  }
  return writeEach(items);
}

function writeFixed(binary, width) {
  if (!Number.isSafeInteger(width) || width < 1 || width >= 2 ** 31) {
    throw new RangeError(`itemBytes = ${width} is not possible: give the length of each item in bytes`);
  }
  if (binary === undefined) throw new TypeError("itemBytes is for a Uint8Array: leave it out");
  if (binary.length % width !== 0) {
    throw new RangeError(`${binary.length} bytes are not a whole number of items of ${width} bytes: check itemBytes`);
  }
  input(binary.length).set(binary);
  return { call: "filter_apply_fixed", length: binary.length, more: width, isColumn: true };
}

function writeColumn(items) {
  const kind = COLUMNS.indexOf(kindOf(items));
  if (kind < 0) {
    throw new TypeError("numbers with fractions are not items, because their text is ambiguous: convert them to integers or strings");
  }
  const bytes = attachedBytesOf(items);
  input(bytes.length).set(bytes);
  return { call: "filter_apply_integers", length: bytes.length, more: kind, isColumn: true };
}

function writeEach(items) {
  const lengths = [];
  let bytes = new Uint8Array(USUAL_BYTES);
  let end = 0;
  for (const item of items) {
    try {
      const text = textOf(item);
      const part = text === undefined ? itemBytes(item) : undefined;
      const most = text === undefined ? part.length : text.length * 3;
      if (end + most > bytes.length) {
        const larger = new Uint8Array((end + most) * 2);
        larger.set(bytes.subarray(0, end));
        bytes = larger;
      }
      let length = most;
      if (text === undefined) bytes.set(part, end);
      else length = putText(text, bytes, end);
      lengths.push(length);
      end += length;
    } catch (error) {
      if (error instanceof TypeError) error.message = `item ${lengths.length}: ${error.message}`;
      throw error;
    }
  }
  const heads = new Uint8Array(Uint32Array.from(lengths).buffer);
  const target = input(heads.length + end);
  target.set(heads);
  target.set(bytes.subarray(0, end), heads.length);
  return { call: "filter_apply_texts", length: heads.length + end, more: lengths.length, isColumn: false };
}

const USUAL_BYTES = 1 << 14;
