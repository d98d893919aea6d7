// What people and addresses can put into the page of `lately explore`, without a browser: it is refused in one sentence, or
// works. `browser/` has the views themselves.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fuzz, tolerate } from "./fuzz.js";
import { directory, repository } from "./subject.js";

// The page as it is served: its files, and the package beside them.
const page = mkdtempSync(join(tmpdir(), "lately-page-"));
after(() => rmSync(page, { recursive: true }));
cpSync(join(repository, "crates/lately-cli/explorer"), page, { recursive: true, filter: (path) => !path.includes("explorer/filter") });
cpSync(directory, join(page, "filter"), { recursive: true });
writeFileSync(join(page, "package.json"), '{"type": "module"}');
globalThis.fetch = async (address) => new Response(readFileSync(address));
const load = (file) => import(join(page, file));
const { optionsOf } = await load("plan.js");
const { codeFor } = await load("code.js");
const { finder, linesOf } = await load("lines.js");
const { AXES, CURVES } = await load("plots.js");
const { Scene, curve } = await load("scene.js");
const { bins } = await load("watch_bins.js");
const { slices } = await load("watch_slices.js");
const { ConfigError, plan } = await load("filter/browser.js");
const refusable = (call) => tolerate(call, [ConfigError]);

const TEXTS = ["", "0", "-1", "1", "2", "1M", "250k", "5_000", "1e6", "1e300", "1e-300", "1e-4", "0.5", "0.999", "2", "NaN", "Infinity", "9".repeat(400), "1T", "1h", "1h30m", "7d", "99999999999999w", "0ms", "5x", "1B", "9TB", "64MiB", "constructor", "__proto__", "%00", "\u202e", "<b>", " 5 ", "1_", "1.5.2", "0x10", "٣"];
const CHOICES = { kind: ["count", "time", "heap"], traffic: ["unknown", "most", "perSecond", "x"], prefer: ["balanced", "speed", "memory"] };
const USUAL = { kind: "count", window: "1M", within: "24h", traffic: "unknown", capacity: "5M", perSecond: "50", rate: "1e-4", slack: "", prefer: "balanced", memory: "" };

fuzz("texts of the controls at random: plans, curves and code, or a clear error", (random) => {
  const settings = { ...USUAL };
  for (const name in CHOICES) settings[name] = random.of(CHOICES[name]);
  for (let count = random.below(4); count > 0; count--) settings[random.of(["window", "within", "capacity", "perSecond", "rate", "slack", "memory"])] = random.of(TEXTS);
  const options = refusable(() => optionsOf(settings));
  const plans = options && refusable(() => plan(options));
  if (!plans) return;
  const [best] = plans;
  for (const code of Object.values(codeFor(options, best.layout))) assert.doesNotMatch(code, /undefined|NaN|null|\[object/);
  const base = { window: options.window ?? options.capacity ?? 1e6, falsePositiveRate: options.falsePositiveRate, maxSlack: options.maxSlack };
  const points = curve(random.below(AXES.length), random.below(CURVES.length), base);
  for (const point of points) assert.ok(point.length === 2 && point.every((number) => Number.isFinite(number) && number > 0), String(point));
});

const join8 = (bytes) => Buffer.from(bytes).toString("latin1");

fuzz("files at random: their lines, and an item or none in each", async (random) => {
  const alphabet = random.of(["\n\r\tab", "\n{}\":,id1", "\n\u0000ÿ,; "]);
  const bytes = Uint8Array.from({ length: random.below(200) }, () => (random() < 0.05 ? random.below(256) : alphabet.charCodeAt(random.below(alphabet.length)) & 255));
  const cuts = [0, ...Array.from({ length: random.below(6) }, () => random.below(bytes.length + 1)).sort((one, other) => one - other), bytes.length];
  const stream = new ReadableStream({
    start(controller) {
      cuts.slice(1).forEach((end, index) => controller.enqueue(bytes.slice(cuts[index], end)));
      controller.close();
    },
  });
  const lines = [];
  let read = 0;
  for await (const part of linesOf(stream)) {
    lines.push(...part.lines.map(join8));
    read += part.bytes;
  }
  const expected = join8(bytes).split("\n").map((line) => line.replace(/\r$/, ""));
  if (join8(bytes).endsWith("\n") || bytes.length === 0) expected.pop();
  assert.deepEqual(lines, expected);
  assert.equal(read, bytes.length);
  const field = 1 + random.below(4);
  const separator = random.of(["tab", "comma", "space", "semicolon"]);
  const mark = { tab: "\t", comma: ",", space: " ", semicolon: ";" }[separator];
  const fieldOf = finder({ by: "field", field, separator });
  const memberOf = finder({ by: "member", member: random.of(["id", "a", "", "__proto__", "length"]) });
  for (const line of expected) {
    const raw = Buffer.from(line, "latin1");
    const found = fieldOf(raw);
    assert.equal(found && join8(found), line.split(mark)[field - 1]);
    const member = memberOf(raw);
    assert.ok(["undefined", "string"].includes(typeof member) || Number.isSafeInteger(member), String(member));
  }
});

const NUMBERS = [undefined, NaN, -1, 0, 1, 2, 3, 5, 8, 20, 31, 60, 160, 400, 1e4, 2 ** 31, 2 ** 32, 2 ** 53, 1e300, Infinity];

fuzz("small filters to look into, of any size and at any time", (random) => {
  const usual = random.of([bins, slices]);
  const size = (number) => (random() < 0.7 ? number : random.of(NUMBERS));
  const layout = Object.assign(Object.create(usual), { l: size(usual.l), items: size(usual.items), ...(usual.k === undefined ? {} : { k: size(usual.k) }) });
  const scene = refusable(() => new Scene(layout, random() < 0.5 ? undefined : random.of([...NUMBERS, 10_000, 10_000])));
  if (scene === undefined) return;
  for (let call = 0; call < 40; call++) {
    const item = random.of(["", "item", "ü", 5, `item ${random.below(300)}`]);
    if (random() < 0.3) scene.advance(random.of([...NUMBERS.slice(1), random.below(30_000)]));
    const inserted = scene.insert(item);
    assert.equal(typeof inserted.shifted, "boolean");
    assert.equal(scene.query(item).seen, true, String(item));
    const view = scene.look();
    assert.ok(view.inserts === call + 1 && view.predictedRate > 0 && view.predictedRate <= 1, JSON.stringify(view));
    assert.equal(usual.described(view).includes("undefined"), false);
  }
  assert.ok(scene.measure(random.below(200)) >= 0);
  scene.free();
  assert.throws(() => scene.look());
});
