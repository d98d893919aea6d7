// Plans, statistics and ages from the module's lists of numbers; `report.rs` writes them in the same order.
import { names } from "./core.js";

/** Reads a list of numbers, one after the other. */
class Reader {
  #numbers;
  #at = 0;
  constructor(numbers) {
    this.#numbers = numbers;
  }
  get isAtEnd() {
    return this.#at >= this.#numbers.length;
  }
  number = () => this.#numbers[this.#at++];
  flag = () => this.number() === 1;
  optional = () => {
    const number = this.number();
    return Number.isNaN(number) ? null : number;
  };
  name = (setting) => names[setting][this.optional() ?? -1] ?? null;
}

function readPlan(from) {
  return {
    window: from.number(),
    isElastic: from.flag(),
    spanMs: from.optional(),
    overload: from.name("overload"),
    layout: from.name("layout"),
    requiredMatches: from.number(),
    windowGenerations: from.number(),
    parts: from.number(),
    blockBits: from.optional(),
    rowBytes: from.optional(),
    fingerprintBits: from.optional(),
    itemsPerGeneration: from.number(),
    guaranteedItems: from.number(),
    cells: from.number(),
    memoryBytes: from.number(),
    bitsPerItem: from.number(),
    falsePositiveRate: from.number(),
    npws: from.number(),
    efficiency: from.number(),
    accessesPerInsert: from.number(),
    accesses: { window: from.number(), falsePositive: from.number(), absent: from.number() },
  };
}

function readAge(from) {
  const inserts = [from.number(), from.number()];
  const [least, most] = [from.optional(), from.optional()];
  return { inserts, millis: least === null ? null : [least, most] };
}

export const planOf = (numbers) => readPlan(new Reader(numbers));

export function plansOf(numbers) {
  const from = new Reader(numbers);
  const plans = [];
  while (!from.isAtEnd) plans.push(readPlan(from));
  return plans;
}

export const ageOf = (numbers) => readAge(new Reader(numbers));

export function statisticsOf(numbers) {
  const from = new Reader(numbers);
  const statistics = {
    inserts: from.number(),
    generation: from.number(),
    estimatedFalsePositiveRate: from.number(),
    estimatedDistinctItems: from.number(),
    estimatedSpilledItems: from.number(),
    backwardSteps: from.number(),
    overloadedGenerations: from.number(),
    latestMs: from.optional(),
    memoryBytes: from.number(),
    peakMemoryBytes: from.number(),
    growths: from.number(),
    shrinks: from.number(),
    fillByAge: [],
    itemsByAge: [],
  };
  while (!from.isAtEnd) {
    statistics.fillByAge.push(from.number());
    statistics.itemsByAge.push(readAge(from));
  }
  return statistics;
}

export function factsOf(numbers) {
  const from = new Reader(numbers);
  return {
    isTimeWindow: from.flag(),
    guaranteedWindow: from.number(),
    guaranteedSpanMs: from.optional(),
    memoryBytes: from.number(),
    clock: from.name("clock"),
    hash: from.flag() ? "siphash13" : "xxh3",
  };
}
