// Runs a program that was compiled for wasm32-wasip1; cargo calls it as the runner of that target.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";
import process from "node:process";

const [program, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...args], env: { RUST_BACKTRACE: "0" }, preopens: { "/": process.cwd() }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(await readFile(program), wasi.getImportObject());
process.exitCode = wasi.start(instance);
