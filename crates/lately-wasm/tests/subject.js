// The package under test: the one in LATELY_FILTER, or the one in the repository.
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const repository = fileURLToPath(new URL("../../..", import.meta.url));
export const directory = process.env.LATELY_FILTER ?? resolve(repository, "crates/lately-wasm/package");
export const { ConfigError, Filter, JumpError, SnapshotError, dedup, itemBytes, plan } = await import(
  pathToFileURL(resolve(directory, "node.js"))
);
/** The command `lately`; without it, tests that compare with it are skipped. */
export const command = process.env.LATELY_COMMAND;
