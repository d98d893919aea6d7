// Rounds of random input: some in every run, more on request.
import { test } from "node:test";
import { ConfigError, JumpError, SnapshotError } from "./subject.js";

/** Numbers that look random, the same in every run. */
export function randomOf(seed) {
  const random = () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  random.below = (limit) => Math.floor(random() * limit);
  random.of = (list) => list[random.below(list.length)];
  return random;
}

// More rounds: LATELY_FUZZ_SECONDS=600; others: LATELY_FUZZ_SEED=1000000.
const SECONDS = Number(process.env.LATELY_FUZZ_SECONDS ?? 0);
const FIRST = Number(process.env.LATELY_FUZZ_SEED ?? 1);
const ROUNDS = 200;

/** Runs rounds with different numbers, and names the one that fails. */
export function fuzz(what, round) {
  test(what, async () => {
    const end = performance.now() + (SECONDS * 1000) / 3;
    let seed = FIRST;
    for (; seed < FIRST + ROUNDS || performance.now() < end; seed++) {
      try {
        await round(randomOf(seed));
      } catch (error) {
        error.message = `seed ${seed}: ${error.message}`;
        throw error;
      }
    }
    if (SECONDS > 0) console.log(`${what}: ${seed - FIRST} rounds`);
  });
}

/** Runs a call that may refuse. A refusal is one of the package's errors, with a remedy. */
export function tolerate(call, kinds = [ConfigError, SnapshotError, JumpError]) {
  try {
    return call();
  } catch (error) {
    const isOurs = [...kinds, TypeError, RangeError].some((kind) => error instanceof kind);
    const isClear = /: |takes|contains|is the pair|needs|many items are/.test(error.message) && !/unreachable|undefined \(|not a function|Cannot read|stack size|internal/.test(error.message);
    if (!isOurs || !isClear) throw error;
    return undefined;
  }
}
