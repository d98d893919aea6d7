// The package for Node, Deno and Bun: reads the module from its file.
import { readFile } from "node:fs/promises";
import { start } from "./core.js";

await start(readFile(new URL("./lately.wasm", import.meta.url)));

export * from "./index.js";
