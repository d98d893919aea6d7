// Times `checkAndAdd` of lately-filter beside what people write by hand and two Bloom filters from npm; see javascript.sh.
// Every contender keeps the last WINDOW ids, or all of them if it never forgets. Answers are checked before anything is
// timed. The times are the best of five rounds, in which the contenders take turns.
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { Filter } from "../crates/lately-wasm/package/node.js";

const require = createRequire(`${process.cwd()}/target/javascript-bench/package.json`);
const { BloomFilter: BloomFilters } = require("bloom-filters");
const { BloomFilter: Bloomfilter } = await import(require.resolve("bloomfilter"));
const [IDS, WINDOW, RATE, ROUNDS] = [200_000, 50_000, 1e-3, 5];

// A fifth are repeats of the last few thousand ids.
let state = 1;
const below = (limit) => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32) * limit;
const ids = [];
for (let index = 0; index < IDS; index++) {
  ids.push(index > 0 && below(5) < 1 ? ids[Math.max(0, index - 1 - Math.floor(below(5_000)))] : `order-${index}`);
}

/** Each makes a function that says whether an id was seen, and remembers it. */
const contenders = {
  "lately-filter": () => {
    const seen = new Filter({ window: WINDOW, falsePositiveRate: RATE });
    return (id) => seen.checkAndAdd(id);
  },
  "Set and a queue (exact)": () => {
    const [counts, queue] = [new Map(), new Array(WINDOW)];
    let at = 0;
    return (id) => {
      const was = counts.has(id);
      const old = queue[at];
      if (old !== undefined) {
        const left = counts.get(old) - 1;
        if (left === 0) counts.delete(old);
        else counts.set(old, left);
      }
      queue[at] = id;
      at = (at + 1) % WINDOW;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      return was;
    };
  },
  "bloom-filters (never forgets)": () => {
    const seen = BloomFilters.create(IDS, RATE);
    return (id) => {
      const was = seen.has(id);
      if (!was) seen.add(id);
      return was;
    };
  },
  "bloomfilter (never forgets)": () => {
    const bits = Math.ceil((-IDS * Math.log(RATE)) / Math.LN2 ** 2);
    const seen = new Bloomfilter(bits, Math.round((bits / IDS) * Math.LN2));
    return (id) => {
      const was = seen.test(id);
      if (!was) seen.add(id);
      return was;
    };
  },
};

const exact = contenders["Set and a queue (exact)"]();
const truth = ids.map(exact);
for (const [name, make] of Object.entries(contenders)) {
  const check = make();
  let mistaken = 0;
  ids.forEach((id, index) => {
    const answer = check(id);
    if (truth[index] && !answer) throw new Error(`${name} has forgotten ${id}`);
    mistaken += answer && !truth[index];
  });
  if (mistaken / IDS > 2 * RATE) throw new Error(`${name} mistakes ${mistaken} of ${IDS} ids`);
}

const best = Object.fromEntries(Object.keys(contenders).map((name) => [name, Infinity]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, make] of Object.entries(contenders)) {
    const check = make();
    const start = performance.now();
    for (const id of ids) check(id);
    best[name] = Math.min(best[name], ((performance.now() - start) * 1e6) / IDS);
  }
}
const ours = best["lately-filter"];
const results = Object.entries(best).map(([contender, ns]) => ({ contender, ns_per_id: Math.round(ns), relative: Number((ns / ours).toFixed(2)) }));
console.log(JSON.stringify({ node: process.version, processor: cpus()[0].model, ids: IDS, window: WINDOW, rate: RATE, results }, null, 2));
