// One snapshot format, one set of keys, one planner: the command `lately`, compiled for this machine, beside the module.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Filter, command, plan } from "./subject.js";

const skip = command ? false : "LATELY_COMMAND is not set";
const directory = mkdtempSync(join(tmpdir(), "lately-wasm-"));
after(() => rmSync(directory, { recursive: true }));
const lines = Array.from({ length: 4_000 }, (_, index) => `order-${(index * index) % 1_777}`);
/** A snapshot without what only the command writes, its label, and the checksum, which depends on it. */
const content = (bytes) => Buffer.concat([bytes.subarray(0, 144), bytes.subarray(152, bytes.length - 8)]);
const run = (args, input = lines.join("\n") + "\n") => execFileSync(command, args, { input, encoding: "utf8" }).split("\n").slice(0, -1);

for (const layout of ["bins", "rows", "slices", "blocks"]) {
  test(`the same lines leave the same bits: ${layout}`, { skip }, () => {
    const state = join(directory, `${layout}.lately`);
    const passed = run(["dedup", "--window", "500", "--fp", "1e-3", "--layout", layout, "--state", state]);
    const seen = new Filter({ window: 500, falsePositiveRate: 1e-3, layout });
    assert.deepEqual(lines.filter((line) => !seen.checkAndAdd(line)), passed);
    assert.deepEqual(content(seen.toBytes()), content(readFileSync(state)));
    // And back: the command continues with the state of the package.
    const theirs = Filter.fromBytes(readFileSync(state));
    theirs.add("from JavaScript");
    writeFileSync(state, theirs.toBytes());
    assert.deepEqual(run(["contains", "--state", state], "from JavaScript\nstranger\n"), ["seen\tfrom JavaScript", "new\tstranger"]);
  });
}

test("a window of event time is the same, with and without a capacity", { skip }, () => {
  const records = lines.map((line, index) => `{"id":"${line}","at":${1_700_000_000 + index}}`);
  for (const capacity of [[], ["--capacity", "2000"]]) {
    const state = join(directory, `time${capacity.length}.lately`);
    const passed = run(["dedup", "--json", "id", "--within", "10m", "--time-field", "at", ...capacity, "--state", state], records.join("\n") + "\n");
    const seen = new Filter({ within: "10m", capacity: capacity.length ? 2_000 : undefined, falsePositiveRate: 1e-4 });
    const ours = records.filter((record) => {
      const { id, at } = JSON.parse(record);
      return !seen.checkAndAdd(id, { now: at * 1_000 });
    });
    assert.deepEqual(ours, passed);
    assert.deepEqual(content(seen.toBytes()), content(readFileSync(state)));
  }
});

test("plans are the command's, number by number", { skip }, () => {
  const asked = [
    [{ window: 1e6, falsePositiveRate: 1e-4 }, ["--window", "1M", "--fp", "1e-4"]],
    [{ window: 777, falsePositiveRate: 0.01, prefer: "memory" }, ["--window", "777", "--fp", "0.01", "--prefer", "memory"]],
    [{ within: "1h", capacity: 1e7, falsePositiveRate: 1e-6 }, ["--within", "1h", "--capacity", "10M", "--fp", "1e-6"]],
    [{ within: "1d", falsePositiveRate: 1e-4 }, ["--within", "1d"]],
    [{ window: 1e5, falsePositiveRate: 1e-3, maxSlack: 0.05 }, ["--window", "100k", "--fp", "1e-3", "--slack", "0.05"]],
  ];
  for (const [options, flags] of asked) {
    const theirs = JSON.parse(run(["plan", "--json", "--top", "100", ...flags], "").join("\n")).plans;
    const ours = plan(options);
    assert.equal(ours.length, theirs.length);
    ours.forEach((one, index) => {
      const other = theirs[index];
      assert.deepEqual(
        [one.layout, one.memoryBytes, one.bitsPerItem, one.falsePositiveRate, one.npws, one.efficiency, one.cells, one.accesses.absent],
        [other.layout, other.memory_bytes, other.bits_per_item, other.false_positive_rate, other.npws, other.efficiency, other.cells, other.accesses.absent],
      );
    });
  }
});
