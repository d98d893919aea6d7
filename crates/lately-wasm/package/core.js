// The border to the WebAssembly module. `exports.rs` is the other side: arguments go to its input, results longer than a
// number come from its reply.
import { errorOf } from "./errors.js";

/** The functions of the module. */
export let wasm;
/** The names of settings' values, in the module's order. */
export const names = {};

/** The input has at least this length. */
const USUAL = 4096;
let memory = new Uint8Array(0);
let inputAt = 0;
let inputLength = 0;
const decoder = new TextDecoder();

export async function start(source) {
  if (typeof WebAssembly === "undefined") {
    throw new Error("WebAssembly is missing here, and lately-filter needs it: use another engine, or switch it on");
  }
  const { instance } = await WebAssembly.instantiate(await source);
  wasm = instance.exports;
  room(USUAL);
  attempt(wasm.names());
  const lists = replyText().split("\n").map((list) => list.split(","));
  ["layout", "prefer", "overload", "clock"].forEach((setting, index) => (names[setting] = lists[index]));
}

/** The module's memory. It moves when it grows. */
const bytes = () => (memory.buffer === wasm.memory.buffer ? memory : (memory = new Uint8Array(wasm.memory.buffer)));

/** Makes room for an argument, and returns where it begins in `input()`. */
export function room(length) {
  if (length > inputLength) {
    inputAt = wasm.input(length) >>> 0;
    if (inputAt === 0) {
      inputLength = 0;
      throw new RangeError(`cannot allocate ${length} bytes for these items: pass them in smaller parts`);
    }
    inputLength = length;
  }
}

/** The room for arguments. It is valid until the next call of the module. */
export function input(length) {
  room(length);
  return bytes().subarray(inputAt, inputAt + Math.max(length, USUAL));
}

/** Gives room for large arguments back. */
export function release() {
  if (inputLength > 1 << 20) {
    inputLength = 0;
    room(USUAL);
  }
}

/** Returns what a function of the module returned; throws if it failed. */
export function attempt(status) {
  if (status < 0) throw errorOf(replyText());
  return status;
}

const replyView = () => {
  const [at, length] = [wasm.reply() >>> 0, wasm.reply_length() >>> 0];
  return bytes().subarray(at, at + length);
};
const replyText = () => decoder.decode(replyView());
/** A copy of the reply. */
export const replyBytes = () => replyView().slice();
/** The reply as numbers. */
export const replyNumbers = () => new Float64Array(replyBytes().buffer);

/** Writes numbers, and bytes after them, to the input; returns their length. NaN is a number that is not given. */
export function writeNumbers(numbers, more = new Uint8Array(0)) {
  const list = new Uint8Array(Float64Array.from(numbers).buffer);
  const length = list.length + more.length;
  const target = input(length);
  target.set(list);
  target.set(more, list.length);
  return length;
}
