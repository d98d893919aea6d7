// index.d.ts, as users compile against it: with old and new libraries of TypeScript, and every strict check.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { directory, repository } from "./subject.js";

const tsc = join(repository, "target/wasm-tests/node_modules/.bin/tsc");
// A machine may have no `node` besides the one that runs the tests, so tsc's first line would find none.
const skip = existsSync(tsc) ? false : "TypeScript is missing: run crates/lately-wasm/tests/setup";

for (const lib of [["es2022", "dom"], ["es2024"], ["esnext", "dom"]]) {
  test(`the types allow what works and refuse what does not: ${lib}`, { skip }, () => {
    const place = mkdtempSync(join(tmpdir(), "lately-types-"));
    const compilerOptions = { strict: true, noEmit: true, module: "nodenext", target: "es2022", lib, types: [], exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false, paths: { "lately-filter": [join(directory, "index.d.ts")] } };
    writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [join(repository, "crates/lately-wasm/tests/usage.ts")] }));
    const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", place], { encoding: "utf8" });
    rmSync(place, { recursive: true });
    assert.equal(status, 0, stdout + stderr);
  });
}
