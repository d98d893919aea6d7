// The command `lately explore` and a headless Chromium on it.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { repository } from "../subject.js";

const require = createRequire(join(repository, "target/wasm-tests/package.json"));
const { chromium } = require("playwright-core");
export const axe = require.resolve("axe-core/axe.min.js");

/** Machines that build something else at the same time are slow. */
export const PATIENCE = 60_000;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

/** Starts the command on a free port; returns its address, and the process to kill. */
export async function serve(command, args = []) {
  const server = spawn(command, ["explore", "--no-open", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  let errors = "";
  server.stderr.on("data", (data) => (errors += data));
  const address = await new Promise((resolve, reject) => {
    server.stdout.on("data", (data) => {
      printed += data;
      if (printed.includes("\n")) resolve(printed.trim());
    });
    server.on("exit", (code) => reject(new Error(`lately explore has ended with ${code}: ${errors}`)));
  });
  return { address, server, port: Number(new URL(address).port) };
}

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS, timeout: PATIENCE });

/** A page that remembers what must not happen: console messages, errors, and requests to anywhere else. */
export async function visit(browser, address, { width = 1280, height = 900, colorScheme = "light", module } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce", bypassCSP: false });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const troubles = [];
  page.on("console", (message) => troubles.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) troubles.push(`request: ${request.url()}`);
  });
  // The module under test, if it is newer than the one in the command.
  if (module) await page.route("**/lately.wasm", (route) => route.fulfill({ path: module, contentType: "application/wasm" }));
  return { page, troubles, close: () => context.close() };
}
