// The view Inspect: what a state contains.
import { dropZone, figures, make, problem } from "./elements.js";
import { Filter } from "./filter/browser.js";
import { digits, human, humanBytes, humanSpan, plain, scientific } from "./words.js";

/** WebAssembly has 4 GiB, and needs the bytes and the filter. */
const LARGEST = 1.5e9;
const MOST_AGES = 64;

function agesOf({ inserts: [least, most], millis }) {
  const records = `${plain(least)} to ${plain(most)} inserts ago`;
  return millis === null ? records : `${records}, ${humanSpan(millis[0])} to ${humanSpan(millis[1])} ago`;
}

function promiseOf(plan, seen) {
  const span = plan.spanMs === null ? "" : humanSpan(plan.spanMs);
  const window = plan.isElastic ? `the inserts of the last ${span}` : span ? `the inserts of the last ${span}, up to ${human(plan.window)} different items` : `the last ${human(plan.window)} inserts`;
  return [
    ["never forgets", window],
    ["mistakes at most", `${scientific(plan.falsePositiveRate)} of new items for known ones`],
    ["still reports older items", `on average at most ${plan.npws.toFixed(3)} of a window`],
    ["guaranteed now", `${plain(seen.guaranteedWindow)} inserts`],
    ["layout", `${plan.layout}, k=${plan.requiredMatches} l=${plan.windowGenerations}`],
    ["memory", humanBytes(seen.memoryBytes) + (plan.isElastic ? `, follows the traffic up to ${humanBytes(plan.memoryBytes)}` : "")],
    ["hash", seen.hash === "siphash13" ? "siphash13, with a secret key: keep the file secret too" : seen.hash],
    ["times", seen.clock === "unset" ? "none yet" : seen.clock === "system" ? "of the system's clock" : "of the events"],
  ];
}

function describe(name, seen) {
  const plan = seen.plan();
  const statistics = seen.statistics();
  const rows = promiseOf(plan, seen);
  if (plan.spanMs !== null) {
    rows.push(["latest time", statistics.latestMs === null ? "none" : dateOf(statistics.latestMs)], ["earlier times given", plain(statistics.backwardSteps)], ["overloaded generations", plain(statistics.overloadedGenerations)]);
  }
  const ages = statistics.fillByAge.slice(0, MOST_AGES).map((fill, age) =>
    make("tr", {}, make("th", { scope: "row" }, String(age)),
      make("td", {}, make("meter", { min: 0, max: 1, value: fill, "aria-label": `fill at age ${age}` })),
      make("td", {}, `${(fill * 100).toFixed(1)}%`),
      make("td", {}, fill > 0 ? agesOf(statistics.itemsByAge[age]) : "empty")));
  return [
    make("h2", {}, name),
    figures([["inserts", plain(statistics.inserts)], ["generation", plain(statistics.generation)], ["different items, about", human(Math.round(statistics.estimatedDistinctItems))], ["false positive rate now, about", scientific(statistics.estimatedFalsePositiveRate)]]),
    make("div", { class: "scroll panel", tabindex: "0", role: "region", "aria-label": "Promise" },
      make("table", { class: "words" }, make("caption", {}, "Promise and state"), make("tbody", {}, ...rows.map(([term, value]) => make("tr", {}, make("th", { scope: "row" }, term), make("td", {}, value)))))),
    make("div", { class: "scroll panel", tabindex: "0", role: "region", "aria-label": "Ages" },
      make("table", {}, make("caption", {}, `Fill of each ${plan.layout === "bins" ? "generation" : "segment"}, newest first${statistics.fillByAge.length > MOST_AGES ? ` (the first ${MOST_AGES} of ${digits(statistics.fillByAge.length, 6)})` : ""}`),
        make("thead", {}, make("tr", {}, ...["age", "fill", "", "items"].map((heading) => make(heading ? "th" : "td", heading ? { scope: "col" } : {}, heading)))),
        make("tbody", {}, ...ages))),
  ];
}

function dateOf(millis) {
  const date = new Date(millis);
  return Number.isNaN(date.getTime()) ? `${plain(millis)} ms` : date.toISOString().replace("T", " ").replace(".000Z", " UTC").replace("Z", " UTC");
}

export function open(main) {
  const result = make("div", { "aria-live": "polite", id: "state" });
  let latest = 0;
  const show = async (file) => {
    const mine = ++latest;
    try {
      if (file instanceof Error) throw file;
      if (file.size > LARGEST) throw new Error(`${file.name} has ${humanBytes(file.size)}, and the page opens at most ${humanBytes(LARGEST)}: use lately inspect`);
      const bytes = await file.arrayBuffer().catch(() => {
        throw new Error(`${file.name} cannot be read: is it a directory, or has it changed? Drop it again`);
      });
      if (mine !== latest) return;
      const seen = Filter.fromBytes(new Uint8Array(bytes));
      result.replaceChildren(...describe(file.name, seen));
      seen.free();
    } catch (error) {
      if (mine === latest) result.replaceChildren(problem(error));
    }
  };
  main.append(
    make("p", { class: "quiet" }, "Drop a state that the command, Python, Redis or JavaScript has saved, and see its promise, its fill and its ages."),
    dropZone("Drop a state here, or choose one:", show),
    result,
  );
  return () => void ++latest;
}
