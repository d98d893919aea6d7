// A smoke of the package in an engine other than Node: `deno run -A engine.mjs PACKAGE`, `bun engine.mjs PACKAGE`.
// Prints a digest of a filter's bytes, which is the same in every engine.
import { pathToFileURL } from "node:url";
import { createHash } from "node:crypto";
import process from "node:process";

const { ConfigError, Filter, SnapshotError, dedup, itemBytes, plan } = await import(pathToFileURL(`${process.argv[2]}/node.js`).href);

function check(what, holds) {
  if (!holds) throw new Error(`wrong: ${what}`);
}
function refuses(kind, call) {
  try {
    call();
  } catch (error) {
    return check(`${error} is a ${kind.name}`, error instanceof kind);
  }
  check(`${call} fails`, false);
}

const digest = createHash("sha256");
const key = new Uint8Array(16).fill(3);
for (const options of [{ layout: "bins" }, { layout: "rows", seed: 7n }, { layout: "slices" }, { layout: "blocks", key }]) {
  const seen = new Filter({ window: 500, falsePositiveRate: 1e-3, ...options });
  const known = Array.from({ length: 5_000 }, (_, index) => seen.checkAndAdd(`order-${(index * index) % 977}`));
  const again = Filter.fromBytes(seen.toBytes());
  check("a column", again.hasMany(BigUint64Array.of(1n, 2n)).length === 2);
  check("items", again.has("order-0") === seen.has("order-0") && itemBytes(17).length === 2);
  digest.update(Uint8Array.from(known, Number)).update(again.toBytes());
  again.free();
  refuses(TypeError, () => again.has("a"));
}
const recent = new Filter({ within: "1h", falsePositiveRate: 1e-3 });
check("times", !recent.checkAndAdd("a", { now: new Date(5) }) && recent.has("a", { now: 3_000_000 }) && !recent.has("a", { now: 9_000_000 }));
digest.update(recent.toBytes());
async function* stream() {
  yield* ["a", "b", "a"];
}
const passed = [];
for await (const item of dedup(stream(), { window: 10, falsePositiveRate: 1e-6 })) passed.push(item);
check("dedup", passed.join() === "a,b");
check("plan", plan({ window: 1e6, falsePositiveRate: 1e-4 })[0].layout === "bins");
refuses(ConfigError, () => new Filter({ window: 0, falsePositiveRate: 1e-3 }));
refuses(SnapshotError, () => Filter.fromBytes(new Uint8Array(200)));
console.log(digest.digest("hex"));
