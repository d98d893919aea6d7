// The picture of bins: lines, each a queue of fingerprints, and the spare.
const [LABEL, NARROW_LABEL, ROW, GAP] = [66, 52, 34, 8];
const hex = (fingerprint) => fingerprint.toString(16).padStart(2, "0");
const labelOf = (width) => (width < 560 ? NARROW_LABEL : LABEL);
const cellOf = (width, places) => (width - labelOf(width) - 8) / places;

export const bins = {
  k: undefined,
  l: 8,
  items: 160,
  paceMs: 80,
  atFirst: 190,
  oldest: 8,
  about:
    "A real filter, small enough to see each fingerprint. An item has two lines and goes to the end of the shorter one. A query compares its fingerprint with all of both lines. When a generation is full, all grow older by one, and the oldest leave their lines at the left. If both lines of an item are full, it goes into the spare.",
  legend: { strong: "fingerprint; the older, the paler", lit: "the item's two lines, and its fingerprint", warm: "oldest generation: leaves at the next shift" },
  burst: "The rate depends only on how many items are in the window, not on when they came. Where both lines of an item were full, it went into the spare.",

  readPlace: readItem,
  readAnswer: readItem,
  readMemory([places, ...numbers], { cells }) {
    let at = 0;
    const pairs = (names, end) => {
      const list = [];
      for (; at < end; at += 2) list.push({ [names[0]]: numbers[at], [names[1]]: numbers[at + 1] });
      return list;
    };
    const lines = Array.from({ length: cells }, () => pairs(["age", "fingerprint"], numbers[at++] * 2 + at));
    return { places, lines, spare: pairs(["cell", "age"], numbers.length) };
  },

  inserted(number, { place: { lines, fingerprint, found }, shifted, had }) {
    const has = `Item ${number} has the fingerprint ${hex(fingerprint)} and the lines ${lines.join(" and ")}. `;
    const goes = found === null ? "Both are full: it went into the spare." : had?.found && !shifted ? `Line ${found.line} had this fingerprint already; it is the newest there now.` : `It went into line ${found.line}.`;
    return has + goes + (shifted ? " The generation was full: all grew older, and the oldest left." : "");
  },
  answered({ seen, lines, fingerprint, found }, view) {
    if (!seen) return `not reported. Neither line ${lines[0]} nor line ${lines[1]} has its fingerprint ${hex(fingerprint)}.`;
    if (found === null) return `reported. Its lines do not have its fingerprint ${hex(fingerprint)}, but the spare has the item.`;
    return `reported. Line ${found.line} has its fingerprint ${hex(fingerprint)}, of age ${view.lines[found.line][found.number].age}.`;
  },
  described: ({ lines, places, spare }) => `${lines.length} lines with ${lines.map((line) => line.length).join(", ")} fingerprints of at most ${places}; ${spare.length} cells of the spare are in use`,

  height: ({ lines }) => (lines.length + 1) * ROW + 3 * GAP,
  ageAt({ lines, places }, x, y, width) {
    const line = lines[Math.floor((y - GAP) / ROW)];
    // The newest is at the right end.
    return line?.[line.length - 1 - Math.floor((x - labelOf(width)) / cellOf(width, places))]?.age;
  },
  paint(to, { view, previous, place, answer, done, width, colour }) {
    const l = view.windowGenerations;
    const [label, cell] = [labelOf(width), cellOf(width, view.places)];
    const item = answer ?? place;
    const block = (x, top, age, text, wide = cell) => {
      const paleness = age / l;
      to.fillStyle = colour(age === l ? "warm" : "strong");
      const alpha = to.globalAlpha;
      if (age < l) to.globalAlpha = alpha * (1 - 0.8 * paleness);
      to.fillRect(x, top + 5, Math.max(1, wide - 1.5), ROW - 10);
      to.globalAlpha = alpha;
      if (age === l) {
        to.strokeStyle = colour("quiet");
        to.lineWidth = 1;
        to.strokeRect(x + 0.5, top + 5.5, Math.max(1, wide - 2.5), ROW - 11);
      }
      if (text !== undefined && wide >= 15) {
        to.fillStyle = colour(paleness < 0.4 ? "on-strong" : "text");
        to.font = "10px ui-monospace, monospace";
        to.textAlign = "center";
        to.fillText(text, x + (wide - 1.5) / 2, top + ROW / 2);
        to.textAlign = "left";
        to.font = "13px system-ui, sans-serif";
      }
    };
    const shifts = previous ? view.generation - previous.generation : 0;
    view.lines.forEach((line, number) => {
      const top = GAP + number * ROW;
      to.fillStyle = colour("text");
      to.fillText(label === LABEL ? `line ${number}` : String(number), 8, top + ROW / 2);
      for (let at = 0; at < view.places; at++) {
        to.fillStyle = colour("grid");
        to.fillRect(label + at * cell, top + 5, Math.max(1, cell - 1.5), ROW - 10);
      }
      // Those that left fade, and the others move up.
      const left = shifts > 0 && done < 1 ? previous.lines[number].filter(({ age }) => age + shifts > l) : [];
      to.globalAlpha = 1 - done;
      left.forEach(({ fingerprint }, index) => block(label + (left.length - 1 - index) * cell, top, l, hex(fingerprint)));
      to.globalAlpha = 1;
      const moved = left.length * (1 - done);
      const xOf = (index) => label + (line.length - 1 - index + moved) * cell;
      line.forEach(({ age, fingerprint }, index) => xOf(index) + cell < width && block(xOf(index), top, age, hex(fingerprint)));
      if (item?.lines.includes(number)) {
        to.strokeStyle = colour("lit");
        to.lineWidth = 2;
        to.strokeRect(label - 3, top + 2, width - label - 4, ROW - 4);
      }
      if (item?.found?.line === number) {
        to.fillStyle = colour("lit");
        to.fillRect(xOf(item.found.number) - 1, top + 4, Math.max(3, cell + 0.5), ROW - 8);
        if (cell >= 15) {
          to.fillStyle = colour("back");
          to.font = "bold 10px ui-monospace, monospace";
          to.textAlign = "center";
          to.fillText(hex(item.fingerprint), xOf(item.found.number) + (cell - 1.5) / 2, top + ROW / 2);
          to.textAlign = "left";
          to.font = "13px system-ui, sans-serif";
        }
      }
    });
    const top = 2 * GAP + view.lines.length * ROW;
    const wide = (width - label - 8) / SPARE;
    to.fillStyle = colour("text");
    to.fillText("spare", 8, top + ROW / 2);
    for (let at = 0; at < SPARE; at++) {
      to.fillStyle = colour("grid");
      to.fillRect(label + at * wide, top + 5, Math.max(1, wide - 1.5), ROW - 10);
    }
    for (const { cell, age } of view.spare) block(label + cell * wide, top, age, undefined, wide);
    const isSpilled = item?.found === null && (answer === undefined || answer.seen);
    for (const at of isSpilled ? item.spare : []) {
      to.fillStyle = colour("lit");
      to.fillRect(label + at * wide, top + 4, Math.max(2, wide - 1.5), ROW - 8);
    }
  },
};

/** The cells of the spare: a cache line of bytes. */
const SPARE = 64;

function readItem([even, odd, fingerprint, line, number, ...spare]) {
  return { lines: [even, odd], fingerprint, found: Number.isNaN(line) ? null : { line, number }, spare };
}
