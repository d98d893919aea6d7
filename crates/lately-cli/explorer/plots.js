// Plots of curves with logarithmic axes. Labels stand beside the plot, in a legend, so they never overlap.
import { draw, make } from "./elements.js";

/** The curves, in the module's order. */
export const CURVES = ["bins", "rows", "slices", "blocks", "lower bound", "plain Bloom filter (never forgets)", "hash set and a ring of ids"];
export const AXES = ["slack", "rate"];

const TICKS = { slack: [0.02, 0.05, 0.1, 0.2, 0.5], rate: [1e-1, 1e-3, 1e-5, 1e-7, 1e-9] };
const HEIGHT = 300;
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 14, 26, 46];

const nameOf = (axis, value) => (axis === "rate" ? `1e${Math.round(Math.log10(value))}` : String(value));

/** Draws curves, a list of lists of points, into a place; `asked` is marked on the axis. */
export function plot(place, axis, title, curves, asked) {
  const width = Math.max(280, place.clientWidth || 480);
  const all = curves.flat();
  const [least, most] = [Math.min(...all.map(([, bits]) => bits)), Math.max(...all.map(([, bits]) => bits))];
  const marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];
  const bottom = marks.findLast((mark) => mark <= least) ?? 1;
  const top = marks.find((mark) => mark >= most) ?? most;
  const ticks = TICKS[axis];
  const span = [Math.log(ticks[0]), Math.log(ticks.at(-1))];
  const x = (value) => LEFT + ((Math.log(value) - span[0]) / (span[1] - span[0])) * (width - LEFT - RIGHT);
  const y = (bits) => HEIGHT - BOTTOM - (Math.log(bits / bottom) / Math.log(top / bottom)) * (HEIGHT - TOP - BOTTOM);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img", "aria-label": `${title}. The values are in the table of plans.` });
  const text = (content, attributes) => svg.append(draw("text", attributes, content));
  for (const mark of marks.filter((mark) => mark >= bottom && mark <= top)) {
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(mark), y2: y(mark) }));
    text(String(mark), { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end" });
  }
  for (const tick of ticks) {
    svg.append(draw("line", { class: "grid", x1: x(tick), x2: x(tick), y1: TOP, y2: HEIGHT - BOTTOM }));
    text(nameOf(axis, tick), { x: x(tick), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" });
  }
  text("bits per item", { x: 2, y: 14 });
  text(axis === "rate" ? "false positive rate at most" : "slack at most (share of the window)", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" });
  const isInside = Math.log(asked) >= Math.min(...span) && Math.log(asked) <= Math.max(...span);
  if (isInside) svg.append(draw("line", { class: "asked", x1: x(asked), x2: x(asked), y1: TOP, y2: HEIGHT - BOTTOM }));
  curves.forEach((points, index) => {
    if (points.length === 0) return;
    svg.append(draw("polyline", { class: `curve k${index}`, points: points.map(([at, bits]) => `${x(at).toFixed(1)},${y(bits).toFixed(1)}`).join(" ") }));
  });
  place.replaceChildren(svg);
}

export function legend() {
  const entry = (name, index) =>
    make("li", {}, draw("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, draw("line", { class: `curve k${index}`, x1: 1, x2: 33, y1: 6, y2: 6 })), name);
  return make("ul", { class: "legend" }, ...CURVES.map(entry));
}
