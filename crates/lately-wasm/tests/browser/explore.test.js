// The page, as a person uses it: in a real browser, on the real command.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Filter, command, repository } from "../subject.js";
import { PATIENCE, axe, launch, serve, visit } from "./page.js";

const module = process.env.LATELY_FILTER && join(process.env.LATELY_FILTER, "lately.wasm");
const screenshots = join(repository, "target/explorer-screenshots");
const directory = mkdtempSync(join(tmpdir(), "lately-explore-"));
let browser;
let served;

before(async () => {
  mkdirSync(screenshots, { recursive: true });
  served = await serve(command);
  browser = await launch();
}, { timeout: 2 * PATIENCE });
after(async () => {
  await browser?.close();
  served?.server.kill();
  rmSync(directory, { recursive: true });
});

/** Runs a test on a view; no message, no error and no request to anywhere else may come of it. */
function inBrowser(name, hash, use, options = {}) {
  test(name, { timeout: 4 * PATIENCE }, async () => {
    const { page, troubles, close } = await visit(browser, served.address, { module, ...options });
    await page.goto(served.address + hash);
    // The first thing after the heading: the view, or what is wrong.
    await page.locator("#view > :nth-child(2):not(noscript)").waitFor();
    await use(page);
    assert.deepEqual(troubles, options.troubles ?? []);
    await close();
  });
}
const cell = (page, column) => page.locator(`#plans tbody tr:first-child > :nth-child(${column})`).textContent();
const plansOf = (...flags) => JSON.parse(execFileSync(command, ["plan", "--json", "--top", "100", ...flags], { encoding: "utf8" })).plans;
const textOf = (page, selector) => page.locator(selector).textContent();

inBrowser("Plan shows the numbers of lately plan", "", async (page) => {
  const asked = [
    [{}, ["--window", "1M"]],
    [{ "#window": "25k", "#rate": "1e-3" }, ["--window", "25k", "--fp", "1e-3"]],
    [{ "#slack": "0.05" }, ["--window", "25k", "--fp", "1e-3", "--slack", "0.05"]],
  ];
  await page.locator("#plans").waitFor();
  for (const [fields, flags] of asked) {
    for (const [field, value] of Object.entries(fields)) await page.fill(field, value);
    const plans = plansOf(...flags);
    const rows = await page.locator("#plans tbody tr").count();
    assert.equal(rows, Math.min(8, plans.length));
    const [best] = plans;
    assert.equal(await cell(page, 1), best.layout);
    assert.equal(await cell(page, 3), best.bits_per_item.toFixed(1));
    assert.equal(Number(await cell(page, 5)), Number(best.false_positive_rate.toExponential(2)));
    assert.equal(await cell(page, 6), best.npws.toFixed(3));
    assert.equal(await cell(page, 8), best.accesses.absent.toFixed(1));
  }
  await page.fill("#slack", "");
  await page.check("#kind-time");
  await page.fill("#within", "1h");
  assert.match(await textOf(page, "#answer"), /ids of an hour in as much memory as their number needs/);
  await page.selectOption("form select >> nth=0", "perSecond");
  await page.fill("#perSecond", "50");
  // 50 a second are 180 000 in an hour.
  const [best] = plansOf("--within", "1h", "--capacity", "180000", "--fp", "1e-3");
  assert.equal(await cell(page, 3), best.bits_per_item.toFixed(1));
  assert.match(await textOf(page, "#answer"), /^180 000 ids of an hour in/);
});

inBrowser("a plan can be shared by its address, moved by keys, and taken home as code", "#plan?window=5M&rate=1e-6", async (page) => {
  assert.match(await textOf(page, "#answer"), /^The last 5 million ids in .* MB; one new id in /);
  await page.locator(".plot svg polyline").nth(10).waitFor();
  assert.ok((await page.locator(".plot svg").count()) === 2);
  for (const [name, pattern] of [["Rust", /\.window\(5000000\)\n    \.false_positive_rate\(1e-6\)/], ["Command", /^lately dedup --window 5000000 --fp 1e-6/], ["Redis", /^APBF\.RESERVE seen 1e-6 5000000\n/], ["Python", /Filter\(window=5000000, false_positive_rate=1e-6\)/], ["JavaScript", /new Filter\(\{ window: 5000000, falsePositiveRate: 0\.000001 \}\)/]]) {
    await page.getByRole("button", { name, exact: true }).click();
    assert.match(await textOf(page, "#code"), pattern);
  }
  await page.getByLabel("Items, slider").focus();
  await page.keyboard.press("ArrowRight");
  const moved = page.url();
  assert.match(moved, /window=5\.6M/);
  const memory = await cell(page, 4);
  await page.goto("about:blank");
  await page.goto(moved);
  await page.locator("#plans").waitFor();
  assert.equal(await cell(page, 4), memory);
});

inBrowser("nonsense in the address is explained", "#plan", async (page) => {
  for (const nonsense of ["window=lots", "window=0", "rate=2", "rate=", "kind=time&within=5x", "slack=-1", "memory=1B", "kind=time&traffic=perSecond&perSecond=1e300", "window=1e300"]) {
    await page.goto(`${served.address}#plan?${nonsense}`);
    await page.locator(".problem").waitFor();
    assert.ok((await textOf(page, ".problem")).length > 20, nonsense);
    // The page lives on.
    await page.goto(`${served.address}#plan`);
    await page.locator("#plans").waitFor();
  }
});
inBrowser("views and settings that do not exist are explained or ignored", "#nowhere", async (page) => {
  assert.match(await textOf(page, ".problem"), /'nowhere' is not a view/);
  await page.click("text=Plan");
  await page.locator("#plans").waitFor();
  await page.goto(`${served.address}#plan?kind=heap&prefer=luck&traffic=x&unknown=1&%`);
  await page.locator("#plans").waitFor();
});

const shownIn = (page) => async (name) => (await page.locator(`dt:has-text("${name}") + dd`).first().textContent()).trim();

inBrowser("addresses at random never end in a dead page", "#plan", async (page) => {
  let state = 7;
  const below = (limit) => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) % limit;
  const of = (list) => list[(below(1 << 16) >> 4) % list.length];
  const names = ["kind", "window", "within", "traffic", "capacity", "perSecond", "rate", "slack", "prefer", "memory", "code", "layout", "by", "field", "constructor", "__proto__"];
  const values = ["", "0", "-1", "1", "NaN", "1e300", "1e-300", "9".repeat(400), "constructor", "__proto__", "toString", "%", "%00", "%ff", "<b>", "5x", "1h", "time", "count", "most", "perSecond", "\u202e", "bins", "rows", "memory", "1B", "9TB", "0.5"];
  for (let round = 0; round < 60; round++) {
    const settings = Array.from({ length: below(5) }, () => `${of(names)}=${of(values)}`).join("&");
    const hash = `#${of(["plan", "watch", "try", "inspect", "", "constructor", "toString", "__proto__", "/", "%"])}?${settings}`;
    await page.evaluate((hash) => (location.hash = hash), hash);
    await page.waitForFunction(() => document.querySelector(".problem, #plans, #scene, .drop") !== null, undefined, { timeout: PATIENCE }).catch(() => assert.fail(hash));
    assert.equal(await page.locator("main h1").count(), 1, hash);
  }
  await page.click("text=Plan");
  await page.evaluate(() => (location.hash = "#plan"));
  await page.locator("#plans").waitFor();
});

inBrowser("Watch shows slices: inserts, queries, shifts, bursts and idle time", "#watch?layout=slices", async (page) => {
  const shown = shownIn(page);
  assert.equal(await shown("inserts"), "20");
  for (let step = 0; step < 30; step++) await page.click("#step");
  assert.equal(await shown("inserts"), "50");
  assert.match(await textOf(page, "#said"), /^Item 50 sets bits \d+ at age 0, \d+ at age 1, \d+ at age 2/);
  assert.equal(await shown("shifts"), "4");
  await page.locator("#age").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await textOf(page, "#said"), /^Item 24, 26 inserts ago: reported\. The segments of ages \d to \d match: 3 in a row/);
  await page.click("#stranger");
  assert.match(await textOf(page, "#said"), /^An item that was never inserted: /);
  await page.locator("#scene").click({ position: { x: 40, y: 20 } });
  assert.match(await textOf(page, "#said"), /^Item \d+, \d+ inserts ago: reported/);
  await page.click("#play");
  await page.waitForFunction(() => Number([...document.querySelectorAll("dt")].find((term) => term.textContent === "inserts").nextSibling.textContent) > 52);
  await page.click("#play");

  await page.selectOption("select >> nth=1", "time");
  assert.equal(await shown("clock"), "4.0 s");
  await page.click("#burst");
  assert.equal(await shown("inserts"), "60");
  const shifts = Number(await shown("shifts"));
  await page.click("#idle");
  assert.equal(await shown("clock"), "8.0 s");
  assert.equal(Number(await shown("shifts")), shifts + 2);
  assert.match(page.url(), /#watch\?layout=slices&kind=time/);
});

inBrowser("Watch shows bins: lines, queues, expiry, false positives and the spare", "#watch", async (page) => {
  const shown = shownIn(page);
  const said = () => textOf(page, "#said");
  /** What the picture says to those who do not see it: the fingerprints in each line. */
  const lines = async () => (await page.locator("#scene").getAttribute("aria-label")).match(/with ([\d, ]+) fingerprints/)[1].split(", ").map(Number);
  assert.equal(await shown("inserts"), "190");
  const before = await lines();
  await page.click("#step");
  const [, line] = /^Item 191 has the fingerprint [0-9a-f]{2} and the lines \d+ and \d+\. (?:It went into|Line) (?:line )?(\d+)/.exec(await said());
  const after = await lines();
  after.forEach((count, number) => assert.ok(number === Number(line) ? count - before[number] <= 1 : count <= before[number], `${before} ${after}`));
  // Every item of the window is found, in one of its lines.
  for (let step = 0; step < 80; step++) await page.click("#step");
  await page.locator("#age").focus();
  for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"]) {
    await page.keyboard.press(key);
    const age = await page.locator("#age").inputValue();
    assert.match(await said(), /^Item \d+, \d+ inserts ago: reported\. Line \d has its fingerprint [0-9a-f]{2}, of age \d\.$/, `age ${age}`);
  }
  // A click on the newest fingerprint of the first line.
  const box = await page.locator("#scene").boundingBox();
  const [count] = await lines();
  await page.locator("#scene").click({ position: { x: 66 + ((box.width - 74) / 39) * (count - 0.5), y: 25 } });
  assert.match(await said(), /^Item \d+, \d+ inserts ago: reported/);
  // The rate that is measured is the one predicted, as far as 2000 questions tell: six standard deviations.
  const [predicted, measured] = [await shown("predicted rate now"), await shown("measured rate now")].map((text) => parseFloat(text) / 100);
  assert.ok(Math.abs(predicted - measured) < 6 * Math.sqrt((predicted * (1 - predicted)) / 2_000) + 0.001, `${predicted} ${measured}`);
  let mistakes = 0;
  for (let question = 0; question < 100; question++) {
    await page.click("#stranger");
    if (/This is a false positive/.test(await said())) mistakes++;
    else assert.match(await said(), /^An item that was never inserted: not reported\. Neither line \d nor line \d has its fingerprint/);
  }
  assert.ok(mistakes > 0 && mistakes < 100 * (predicted + 0.25), `${mistakes} of 100, ${predicted} predicted`);

  await page.selectOption("select >> nth=1", "time");
  for (let burst = 0; burst < 6; burst++) await page.click("#burst");
  assert.match(await page.locator("#scene").getAttribute("aria-label"), / [1-9]\d* cells of the spare are in use/);
  await page.click("#step");
  assert.match(await said(), /Both are full: it went into the spare|It went into line|had this fingerprint already/);
  for (let idle = 0; idle < 3; idle++) await page.click("#idle");
  assert.deepEqual((await lines()).filter((left) => left > 0), []);
  assert.match(await page.locator("#scene").getAttribute("aria-label"), / 0 cells of the spare are in use/);
  assert.match(page.url(), /#watch\?kind=time/);
  await page.goto(`${served.address}#watch?layout=heap&kind=constructor`);
  await page.reload();
  assert.equal(await shown("inserts"), "190");
});

inBrowser("Try drops what lately dedup drops, by line, by field and by member", "#try", async (page) => {
  const lines = Array.from({ length: 3_000 }, (_, index) => JSON.stringify({ id: (index * index) % 701, n: index }) + `\t${index % 11}`);
  const file = join(directory, "lines");
  writeFileSync(file, lines.join("\n") + "\n");
  const count = async (name) => Number((await page.locator(`dt:text-is("${name}") + dd`).textContent()).replaceAll(",", ""));
  await page.locator("dt").first().waitFor();
  assert.deepEqual([await count("lines"), await count("dropped")], [5, 2]);
  assert.equal(await page.locator(".lines .dropped").count(), 2);
  await page.setInputFiles("input[type=file]", file);
  await page.locator("text=Of 3,000 lines, 0 would").waitFor();
  await page.selectOption("select >> nth=0", "field");
  await page.fill("#try-field", "2");
  await page.locator("text=Of 3,000 lines, 2,989 would").waitFor();
  await page.fill("#try-field", "3");
  await page.locator("text=Of 3,000 lines, 0 would").waitFor();
  assert.equal(await count("without an item, kept"), 3_000);
  const objects = lines.map((line) => line.split("\t")[0]);
  writeFileSync(file, objects.join("\n"));
  await page.selectOption("select >> nth=0", "member");
  await page.fill("#try-window", "500");
  await page.setInputFiles("input[type=file]", file);
  const kept = execFileSync(command, ["dedup", "--json", "id", "--window", "500", file], { encoding: "utf8" }).split("\n").length - 1;
  await page.locator(`text=Of 3,000 lines, ${(3_000 - kept).toLocaleString("en-US")} would`).waitFor();
  await page.fill("#try-window", "many");
  assert.match(await textOf(page, ".problem"), /'many' is not understood/);
});

inBrowser("Inspect opens states of the command and of JavaScript, and explains others", "#inspect", async (page) => {
  const state = join(directory, "seen.lately");
  execFileSync(command, ["dedup", "--window", "500", "--state", state], { input: Array.from({ length: 1_300 }, (_, index) => `line ${index}\n`).join("") });
  await page.setInputFiles("input[type=file]", state);
  await page.locator("text=the last 500 inserts").waitFor();
  const statistics = JSON.parse(execFileSync(command, ["inspect", "--json", state], { encoding: "utf8" })).statistics;
  assert.equal(await page.locator('dt:text-is("inserts") + dd').textContent(), "1,300");
  assert.equal(await page.locator("meter").count(), statistics.fill_by_age.length);
  assert.equal(await page.locator("meter >> nth=1").getAttribute("value"), String(statistics.fill_by_age[1]));

  const recent = new Filter({ within: "1h", falsePositiveRate: 1e-3, key: new Uint8Array(16).fill(9) });
  recent.add("a", { now: new Date("2026-01-02T03:04:05Z") });
  writeFileSync(state, recent.toBytes());
  await page.setInputFiles("input[type=file]", state);
  await page.locator("text=2026-01-02 03:04:05 UTC").waitFor();
  assert.match(await textOf(page, "#state"), /follows the traffic up to/);
  assert.match(await textOf(page, "#state"), /keep the file secret too/);

  const bytes = Buffer.from(recent.toBytes());
  const future = Buffer.from(bytes);
  future[8] = 7;
  for (const [content, message] of [[bytes.subarray(0, 90), /cut off/], [Buffer.from("[1, 2"), /not a lately snapshot|cut off/], [Buffer.from('{"json": "no state, but longer than a header, which has 100 bytes and more, so here are some words and some more words"}'), /not a lately snapshot/], [future, /format version 7/], [Buffer.concat([bytes, Buffer.from("x")]), /follow the end/], [Buffer.alloc(0), /cut off|not a lately snapshot/]]) {
    writeFileSync(state, content);
    await page.setInputFiles("input[type=file]", state);
    await page.locator(".problem").filter({ hasText: message }).waitFor();
  }
  // A file of 2 GB, which takes no room on the disk.
  execFileSync("truncate", ["-s", "2G", state]);
  await page.setInputFiles("input[type=file]", state);
  await page.locator(".problem").filter({ hasText: "use lately inspect" }).waitFor();
});

inBrowser("without WebAssembly the page says so", "", async (page) => {
  await page.addInitScript("delete globalThis.WebAssembly");
  await page.reload();
  assert.match(await textOf(page, ".problem"), /WebAssembly is missing in this browser/);
});

for (const width of [1280, 390]) {
  for (const [view, address = view] of [["plan"], ["watch"], ["watch-slices", "watch?layout=slices"], ["try"], ["inspect"]]) {
    inBrowser(`${view} is accessible at ${width} px, light and dark`, `#${address}`, async (page) => {
      if (view === "plan") {
        await page.waitForFunction(() => document.querySelectorAll(".plot svg polyline").length === 14);
      }
      if (view.startsWith("watch")) {
        for (let step = 0; step < 45; step++) await page.click("#step");
        await page.locator("#age").focus();
        await page.keyboard.press("ArrowRight");
      }
      if (view === "try") await page.locator(".lines li").first().waitFor();
      if (view === "inspect") {
        const state = join(directory, "shown.lately");
        const seen = new Filter({ window: 5_000, falsePositiveRate: 1e-4 });
        seen.addMany(Uint32Array.from({ length: 7_100 }, (_, index) => index));
        writeFileSync(state, seen.toBytes());
        await page.setInputFiles("input[type=file]", state);
        await page.locator("meter").first().waitFor();
      }
      await page.evaluate(readFileSync(axe, "utf8"));
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.screenshot({ path: join(screenshots, `${view}-${width}-${colorScheme}.png`), fullPage: true });
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the window");
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`), []);
      }
    }, { width });
  }
}

test("the module works in the browser as in Node", { timeout: 4 * PATIENCE }, async () => {
  const { page, troubles, close } = await visit(browser, served.address, { module });
  await page.goto(served.address);
  const bytes = await page.evaluate(async () => {
    const { Filter } = await import("./filter/browser.js");
    const seen = new Filter({ window: 300, falsePositiveRate: 1e-3, seed: 5 });
    for (let index = 0; index < 2_000; index++) seen.checkAndAdd(`item ${(index * index) % 509}`);
    return [...seen.toBytes()];
  });
  const seen = new Filter({ window: 300, falsePositiveRate: 1e-3, seed: 5 });
  for (let index = 0; index < 2_000; index++) seen.checkAndAdd(`item ${(index * index) % 509}`);
  assert.deepEqual(bytes, [...seen.toBytes()]);
  assert.deepEqual(troubles, []);
  await close();
});

/** Sends one request, with these headers and nothing added. */
const ask = (path, { method = "GET", host = `127.0.0.1:${served.port}` } = {}) =>
  new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port: served.port, path, method, headers: { Host: host } }, (response) => {
      let body = "";
      response.on("data", (data) => (body += data));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    request.on("error", reject);
    request.end();
  });

test("the server answers GET for its own files and its own address, and nothing else", async () => {
  const page = await ask("/");
  assert.deepEqual([page.status, page.headers["content-type"]], [200, "text/html; charset=utf-8"]);
  assert.match(page.headers["content-security-policy"], /default-src 'none'/);
  assert.equal((await ask("/", { host: `localhost:${served.port}` })).status, 200);
  for (const host of ["evil.example", `evil.example:${served.port}`, "127.0.0.1:1"]) assert.equal((await ask("/", { host })).status, 421, host);
  for (const path of ["/../Cargo.toml", "/etc/passwd", "/filter", "/%2e%2e/x"]) assert.equal((await ask(path)).status, 404, path);
  for (const method of ["POST", "PUT", "HEAD", "DELETE"]) {
    const { status, headers } = await ask("/", { method });
    assert.deepEqual([status, headers.allow], [405, "GET"], method);
  }
});

/** Sends bytes as they are, and returns all that comes back. */
const send = (bytes) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(served.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => (answer += data)).on("end", () => resolve(answer)).on("error", reject);
    socket.write(bytes);
  });

test("requests that no browser sends get an answer too", async () => {
  assert.match(await send(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nX: ${"x".repeat(500_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  assert.match(await send(`POST / HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nContent-Length: 900000\r\n\r\n${"x".repeat(900_000)}`), /^HTTP\/1\.1 405 /);
  assert.match(await send("\u0000\u0001\r\n\r\n"), /^HTTP\/1\.1 400 /);
  assert.match(await send("GET / HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 421 /);
  assert.match(await send(`GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n\r\n`), /^HTTP\/1\.1 404 /);
});

test("with many silent connections, the page waits and comes", async () => {
  const silent = await Promise.all(Array.from({ length: 100 }, () => new Promise((resolve, reject) => {
    const socket = net.connect(served.port, "127.0.0.1", () => resolve(socket));
    socket.on("error", reject);
  })));
  const page = ask("/");
  silent.forEach((socket) => socket.destroy());
  assert.equal((await page).status, 200);
});

test("a port that is taken is refused in one line", () => {
  const { status, stderr } = spawnSync(command, ["explore", "--no-open", "--port", String(served.port)], { encoding: "utf8", timeout: PATIENCE });
  assert.equal(status, 1);
  assert.equal(stderr, `lately: --port ${served.port} is in use by another program: give another one, or leave --port out for a free one\n`);
});
