// The package in Deno and Bun, whose programs npm has, beside Node: the same answers and bytes.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { accessSync, chmodSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { directory, repository } from "./subject.js";

const modules = join(repository, "target/wasm-tests/node_modules");
const script = join(repository, "crates/lately-wasm/tests/engine.mjs");

function run(program, before) {
  const { status, stdout, stderr } = spawnSync(program, [...before, script, directory], { encoding: "utf8", timeout: 120_000 });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^[0-9a-f]{64}\n$/);
  return stdout;
}

for (const [name, program, before] of [
  ["Deno", join(modules, "@deno/linux-x64-glibc/deno"), ["run", "--allow-all", "--no-lock"]],
  ["Bun", join(modules, "@oven/bun-linux-x64/bin/bun"), []],
]) {
  test(`${name} gives Node's answers and bytes`, { skip: existsSync(program) ? false : `${name} is missing: npm has it for Linux on x86-64; run crates/lately-wasm/tests/setup` }, () => {
    try {
      accessSync(program, constants.X_OK);
    } catch {
      chmodSync(program, 0o755);
    }
    assert.equal(run(program, before), run(process.execPath, []));
  });
}
