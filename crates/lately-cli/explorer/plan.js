// The view Plan: a promise, the plans that keep it, what they cost, and the code.
import { settingsWith, write } from "./address.js";
import { codeFor } from "./code.js";
import { choices, field, make, problem } from "./elements.js";
import { plan } from "./filter/browser.js";
import { span } from "./filter/options.js";
import { AXES, CURVES, legend, plot } from "./plots.js";
import { capacityOf, curve } from "./scene.js";
import { bytesOf, countOf, digits, human, humanBytes, humanSpan, numberOf, plain, scientific } from "./words.js";

const DEFAULTS = { kind: "count", window: "1M", within: "24h", traffic: "unknown", capacity: "5M", perSecond: "50", rate: "1e-4", slack: "", prefer: "balanced", memory: "", code: "Rust" };
const KINDS = { count: "the last N items", time: "a span of time" };
const TRAFFIC = { unknown: "unknown: memory follows it", most: "at most N different items", perSecond: "items per second" };
const PREFER = { balanced: "balanced", speed: "speed", memory: "memory" };

/** The options of `new Filter`, from the texts of the controls. The name of the control is added to what fails. */
export function optionsOf(settings) {
  const read = (name, parse) => {
    try {
      return parse(settings[name]);
    } catch (error) {
      throw Object.assign(error, { control: name });
    }
  };
  const options = { falsePositiveRate: read("rate", numberOf) };
  if (settings.kind === "time") {
    options.within = read("within", (text) => span("the span", text));
    if (settings.traffic === "most") options.capacity = read("capacity", countOf);
    if (settings.traffic === "perSecond") options.capacity = read("perSecond", (text) => capacityOf(countOrFraction(text), options.within));
  } else {
    options.window = read("window", countOf);
  }
  if (settings.slack !== "") options.maxSlack = read("slack", numberOf);
  if (settings.memory !== "") options.maxMemory = read("memory", bytesOf);
  if (settings.prefer !== "balanced") options.prefer = settings.prefer;
  return options;
}

const countOrFraction = (text) => (/^[0-9.]+$/.test(text) ? Number(text) : countOf(text));

function inWords(best) {
  const rate = `one new id in ${human(Number((1 / best.falsePositiveRate).toPrecision(2)))} is mistaken for a known one, at most`;
  const span = best.spanMs === null ? "" : humanSpan(best.spanMs);
  if (best.isElastic) return `The ids of ${span} in as much memory as their number needs, up to ${humanBytes(best.memoryBytes)} for ${human(best.window)} ids; ${rate}.`;
  if (span) return `${human(best.window)} ids of ${span} in ${humanBytes(best.memoryBytes)}; ${rate}.`;
  return `The last ${human(best.window)} ids in ${humanBytes(best.memoryBytes)}; ${rate}.`;
}

const HEADINGS = ["layout", "shape", "bits per item", "memory", "rate", "slack", "per insert", "per miss"];

function table(plans) {
  const shape = ({ layout, requiredMatches: k, windowGenerations: l, parts, blockBits, rowBytes, fingerprintBits }) => {
    const of = { bins: `${fingerprintBits}-bit fingerprints`, rows: `${rowBytes} bytes, b=${parts}`, blocks: `B=${blockBits}, b=${parts}`, slices: `b=${parts}` };
    return `k=${k} l=${l}, ${of[layout]}`;
  };
  const row = (one, index) =>
    make("tr", { class: index === 0 ? "first" : undefined },
      make("th", { scope: "row" }, one.layout),
      ...[shape(one), one.bitsPerItem.toFixed(1), humanBytes(one.memoryBytes), scientific(one.falsePositiveRate), one.npws.toFixed(3), plain(one.accessesPerInsert), one.accesses.absent.toFixed(1)].map((text) => make("td", {}, text)));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Plans" },
    make("table", { id: "plans" },
      make("caption", {}, "Plans that keep the promise, best first. The last two columns are memory accesses."),
      make("thead", {}, make("tr", {}, ...HEADINGS.map((heading) => make("th", { scope: "col" }, heading)))),
      make("tbody", {}, ...plans.slice(0, 8).map(row))));
}

/** A text field with a slider beneath it, which moves on a logarithmic scale. */
function slider(label, name, settings, [least, most, step], { toText, toNumber, hint }, changed) {
  const text = make("input", { type: "text", id: name, name, value: settings[name], autocomplete: "off", spellcheck: "false" });
  const range = make("input", { type: "range", min: least, max: most, step, "aria-label": `${label}, slider` });
  const follow = () => {
    try {
      range.value = Math.log10(toNumber(text.value));
    } catch {
      // The field says what is wrong.
    }
    range.setAttribute("aria-valuetext", text.value || "not limited");
  };
  text.addEventListener("input", () => {
    follow();
    changed(name, text.value.trim());
  });
  range.addEventListener("input", () => {
    text.value = toText(10 ** Number(range.value));
    range.setAttribute("aria-valuetext", text.value);
    changed(name, text.value);
  });
  follow();
  const made = field(label, text, hint);
  made.insertBefore(range, text.nextSibling);
  return made;
}

const roundCount = (number) => {
  const rounded = Number(number.toPrecision(2));
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (rounded >= size) return `${digits(rounded / size)}${unit}`;
  return String(rounded);
};
const roundSpan = (millis) => {
  const [size, unit] = [[604_800_000, "w"], [86_400_000, "d"], [3_600_000, "h"], [60_000, "m"], [1000, "s"], [1, "ms"]].find(([size]) => millis >= size * 0.95);
  return `${Math.max(1, Math.round(millis / size))}${unit}`;
};

export function open(main, given) {
  const settings = settingsWith(DEFAULTS, given);
  for (const [name, possible] of Object.entries({ kind: KINDS, traffic: TRAFFIC, prefer: PREFER })) {
    if (!(settings[name] in possible)) settings[name] = DEFAULTS[name];
  }
  const controls = make("form", { class: "panel", "aria-label": "Promise", onsubmit: (event) => event.preventDefault() });
  const answer = make("p", { class: "lead", role: "status", id: "answer" });
  const plans = make("div", { class: "panel" });
  const places = AXES.map(() => make("div", { class: "plot" }));
  const code = make("div", { class: "panel" });
  const plots = make("div", { class: "panel" }, make("h2", {}, "What slack and rate cost"),
    make("div", { class: "pair" },
      make("div", {}, make("h3", { class: "quiet" }, "Bits per item for each slack"), places[0]),
      make("div", {}, make("h3", { class: "quiet" }, "Bits per item for each rate"), places[1])),
    legend());
  main.append(
    make("p", { class: "quiet" }, "Say what must not be forgotten and how often a new id may be mistaken. The planner finds the filters that keep this, by an exact model."),
    make("div", { class: "columns" }, controls, make("div", {}, answer, plans, plots, code)),
  );

  let latest;
  let job = 0;
  const update = () => {
    write("plan", settings, DEFAULTS);
    for (const control of controls.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
    try {
      const options = optionsOf(settings);
      const found = plan(options);
      latest = options;
      answer.textContent = inWords(found[0]);
      plans.replaceChildren(table(found));
      showCode(found[0]);
      plots.hidden = false;
      const mine = ++job;
      // The table first; curves take longer.
      setTimeout(() => drawPlots(mine, options), 120);
    } catch (error) {
      ++job;
      document.getElementById(error.control)?.setAttribute("aria-invalid", "true");
      answer.textContent = "";
      plans.replaceChildren(problem(error));
      plots.hidden = true;
      code.replaceChildren();
    }
  };

  let drawn = [];
  async function drawPlots(mine, options) {
    // An elastic window has no size; its curves are those of a million items.
    const base = { window: options.window ?? options.capacity ?? 1e6, falsePositiveRate: options.falsePositiveRate, maxSlack: options.maxSlack };
    const all = [];
    for (const along of AXES.keys()) {
      const curves = [];
      for (const of of CURVES.keys()) {
        if (mine !== job) return;
        curves.push(curve(along, of, base));
        await new Promise((resolve) => setTimeout(resolve));
      }
      all.push(curves);
    }
    if (mine !== job) return;
    drawn = all.map((curves, along) => [AXES[along], `Bits per item for each ${AXES[along]}`, curves, along === 0 ? options.maxSlack ?? 0.2 : options.falsePositiveRate]);
    redraw();
  }
  const redraw = () => drawn.forEach((of, index) => plot(places[index], ...of));

  function showCode(best) {
    const codes = codeFor(latest, best.layout);
    if (!(settings.code in codes)) settings.code = DEFAULTS.code;
    const shown = make("pre", { tabindex: "0", id: "code" }, codes[settings.code]);
    const tab = (name) =>
      make("button", { type: "button", "aria-pressed": String(name === settings.code), onclick: () => {
        settings.code = name;
        write("plan", settings, DEFAULTS);
        showCode(best);
        code.querySelector('[aria-pressed="true"]').focus();
      } }, name);
    code.replaceChildren(make("h2", {}, "The same in code"), make("div", { class: "row" }, ...Object.keys(codes).map(tab)), shown);
  }

  const changed = (name, value) => {
    settings[name] = value;
    update();
  };
  const built = () => {
    const radio = (value, text) => {
      const input = make("input", { type: "radio", name: "kind", value, id: `kind-${value}`, onchange: () => {
        settings.kind = value;
        built();
        update();
        document.getElementById(`kind-${value}`).focus();
      } });
      input.checked = settings.kind === value;
      return make("div", { class: "choice" }, input, make("label", { for: input.id }, text));
    };
    const counts = { toText: roundCount, toNumber: countOf };
    const window = settings.kind === "count"
      ? [slider("Items", "window", settings, [2, 10, 0.05], { ...counts, hint: "5000, 250k, 1M or 1e6" }, changed)]
      : [
          slider("Span", "within", settings, [3, 9.8, 0.02], { toText: roundSpan, toNumber: (text) => span("the span", text), hint: "500ms, 30s, 1h30m, 7d or 2w" }, changed),
          field("Traffic", choices(TRAFFIC, settings.traffic, (value) => {
            settings.traffic = value;
            built();
            update();
          })),
          settings.traffic === "most" ? slider("Different items in a span", "capacity", settings, [2, 10, 0.05], counts, changed) : undefined,
          settings.traffic === "perSecond" ? slider("Items per second", "perSecond", settings, [-1, 6, 0.05], { toText: (number) => String(Number(number.toPrecision(2))), toNumber: countOrFraction }, changed) : undefined,
        ];
    controls.replaceChildren(
      make("fieldset", {}, make("legend", {}, "Never forget"), ...Object.entries(KINDS).map(([value, text]) => radio(value, text))),
      ...window.filter(Boolean),
      slider("False positive rate", "rate", settings, [-9, -1, 0.1], { toText: (number) => scientific(Number(number.toPrecision(2))), toNumber: numberOf, hint: "how many new ids may be mistaken for known ones" }, changed),
      slider("Slack", "slack", settings, [-1.7, -0.3, 0.02], { toText: (number) => String(Number(number.toPrecision(2))), toNumber: numberOf, hint: "expired ids still reported, as a share of the window; empty: the planner's choice" }, changed),
      slider("Memory at most", "memory", settings, [3, 10, 0.1], { toText: (number) => humanBytes(Number(number.toPrecision(2))).replace(" ", "").replace("bytes", "B"), toNumber: bytesOf, hint: "500kB, 64MiB or 2GB; empty: no limit" }, changed),
      field("Prefer", choices(PREFER, settings.prefer, (value) => changed("prefer", value))),
    );
  };
  built();
  update();
  const observer = new ResizeObserver(redraw);
  observer.observe(main);
  return () => {
    ++job;
    observer.disconnect();
  };
}
