// The picture of slices: segments by age, bit by bit.
const [LABEL, NARROW_LABEL, ROW, GAP] = [118, 80, 30, 8];

export const slices = {
  k: 3,
  l: 5,
  items: 60,
  paceMs: 200,
  atFirst: 20,
  oldest: 7,
  about:
    "A real filter, small enough to see each bit. An item sets one bit in each of the newest three segments. A query looks for three segments in a row that have the item's bit. When a generation is full, all segments grow older by one; those that fade still know parts of items that have left the window. The line beneath a segment is its fill.",
  legend: { strong: "bit that is set", lit: "the item's bit, filled if it counts", quiet: "bit of a segment that fades" },
  burst: "The clock has not moved, so the generation has not shifted; it is fuller than planned, and so the rate rises.",

  readPlace: (cells) => ({ cells }),
  readAnswer([run, ...cells]) {
    return {
      run: Number.isNaN(run) ? null : run,
      cells: cells.flatMap((cell, index) => (index % 2 === 0 ? [{ cell, set: cells[index + 1] === 1 }] : [])),
    };
  },
  readMemory(numbers) {
    const segments = [];
    for (let at = 0; at < numbers.length; ) {
      const [fill, count] = numbers.slice(at, at + 2);
      segments.push({ fill, set: numbers.slice(at + 2, at + 2 + count) });
      at += 2 + count;
    }
    return { segments };
  },

  inserted(number, { place, shifted }) {
    const where = place.cells.map((cell, age) => `${cell} at age ${age}`).join(", ");
    return `Item ${number} sets bits ${where}.${shifted ? " The generation was full: the oldest segment was emptied and became the newest." : ""}`;
  },
  answered({ seen, run, cells }, { requiredMatches: k }) {
    if (seen) return `reported. The segments of ages ${run} to ${run + k - 1} match: ${k} in a row.`;
    return `not reported. ${cells.filter(({ set }) => set).length} of ${cells.length} segments match, but not ${k} in a row.`;
  },
  described: ({ segments }) => `${segments.length} segments, newest first, with fills of ${segments.map(({ fill }) => `${Math.round(fill * 100)}%`).join(", ")}`,

  height: ({ segments }) => segments.length * ROW + 2 * GAP,
  ageAt: ({ segments }, x, y) => Math.max(0, Math.min(segments.length - 1, Math.floor((y - GAP) / ROW))),
  paint(to, { view, place, answer, done, width, colour }) {
    const [k, l] = [view.requiredMatches, view.windowGenerations];
    const label = width < 560 ? NARROW_LABEL : LABEL;
    const cell = (width - label - 8) / view.cells;
    const mark = (bit, top, colour, isFull) => {
      to.strokeStyle = to.fillStyle = colour;
      to.lineWidth = 2;
      if (isFull) to.fillRect(label + bit * cell, top + 4, Math.max(1, cell - 1.5), ROW - 11);
      to.strokeRect(label + bit * cell - 1, top + 3, Math.max(2, cell + 0.5), ROW - 9);
    };
    view.segments.forEach(({ fill, set }, age) => {
      // After a shift, segments slide from the place of the age that they had.
      const top = GAP + (age - (1 - done)) * ROW;
      const isFading = age > l;
      to.globalAlpha = age === 0 ? done : 1;
      if (isFading) {
        to.fillStyle = colour("warm");
        to.fillRect(0, top, width, ROW - 2);
      }
      to.fillStyle = colour("text");
      const zone = age < k ? "written" : isFading ? "fading" : "window";
      to.fillText(label === LABEL ? `age ${age}  ${zone}` : `${age} ${zone}`, 8, top + ROW / 2 - 1);
      const bits = new Set(set);
      for (let bit = 0; bit < view.cells; bit++) {
        to.fillStyle = bits.has(bit) ? colour(isFading ? "quiet" : "strong") : colour("grid");
        to.fillRect(label + bit * cell, top + 5, Math.max(1, cell - 1.5), ROW - 13);
      }
      if (place?.cells[age] !== undefined) mark(place.cells[age], top, colour("lit"), true);
      if (answer) {
        const { cell: bit, set: isSet } = answer.cells[age];
        const isInRun = answer.run !== null && age >= answer.run && age < answer.run + k;
        mark(bit, top, isSet ? colour("lit") : colour("text"), isInRun);
        if (isInRun) {
          to.fillStyle = colour("lit");
          to.fillRect(0, top + 2, 4, ROW - 6);
        }
      }
      to.fillStyle = colour("quiet");
      to.fillRect(label, top + ROW - 5, (width - label - 8) * fill, 2);
    });
  },
};
