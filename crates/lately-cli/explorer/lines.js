// Lines of a file or of a text, as bytes, and the item in each.
const NEWLINE = 10;

/** Yields lists of lines, one list for each part of the input; a line has no end mark. */
export async function* linesOf(stream) {
  let rest = new Uint8Array(0);
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = [];
      let start = 0;
      let end = value.indexOf(NEWLINE);
      while (end >= 0) {
        lines.push(trimmed(rest.length > 0 ? joined(rest, value.subarray(start, end)) : value.subarray(start, end)));
        rest = rest.length > 0 ? new Uint8Array(0) : rest;
        start = end + 1;
        end = value.indexOf(NEWLINE, start);
      }
      rest = joined(rest, value.subarray(start));
      if (rest.length > LONGEST) throw new RangeError(`a line is longer than ${LONGEST >> 20} MiB: this is not a file of lines`);
      yield { lines, bytes: value.length };
    }
    if (rest.length > 0) yield { lines: [trimmed(rest)], bytes: 0 };
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const LONGEST = 16 << 20;

/** A line of Windows ends with one more byte. */
const trimmed = (line) => (line.at(-1) === 13 ? line.subarray(0, -1) : line);

function joined(one, other) {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

export const SEPARATORS = { tab: "tab", comma: "comma", space: "space", semicolon: "semicolon" };
const MARKS = { tab: 9, comma: 44, space: 32, semicolon: 59 };

/** Returns the function that finds the item of a line; it returns undefined for a line without one. */
export function finder({ by, field, separator, member }) {
  if (by === "line") return (line) => line;
  if (by === "field") {
    const mark = MARKS[separator];
    return (line) => {
      let start = 0;
      for (let number = 1; number < field; number++) {
        const end = line.indexOf(mark, start);
        if (end < 0) return undefined;
        start = end + 1;
      }
      const end = line.indexOf(mark, start);
      return line.subarray(start, end < 0 ? line.length : end);
    };
  }
  const decoder = new TextDecoder();
  return (line) => {
    try {
      const value = JSON.parse(decoder.decode(line))[member];
      return typeof value === "string" || Number.isSafeInteger(value) ? value : undefined;
    } catch {
      return undefined;
    }
  };
}
