// The view Try: which lines would have been dropped.
import { settingsWith, write } from "./address.js";
import { choices, dropZone, field, figures, make, problem } from "./elements.js";
import { Filter } from "./filter/browser.js";
import { SEPARATORS, finder, linesOf } from "./lines.js";
import { countOf, digits, humanBytes, numberOf, plain } from "./words.js";

const DEFAULTS = { window: "100k", rate: "1e-4", by: "line", field: "1", separator: "tab", member: "id", refresh: "every" };
const BY = { line: "the whole line", field: "a field", member: "a member of its JSON" };
const REFRESH = { every: "at every sighting", first: "only at the first" };
const SAMPLE = "order-17\norder-18\norder-17\norder-19\norder-18\n";
/** More lines are counted, but not shown. */
const MOST_SHOWN = 1000;

export function open(main, given) {
  const settings = settingsWith(DEFAULTS, given);
  for (const [name, possible] of Object.entries({ by: BY, separator: SEPARATORS, refresh: REFRESH })) {
    if (!(settings[name] in possible)) settings[name] = DEFAULTS[name];
  }
  const controls = make("form", { class: "panel", "aria-label": "What is compared", onsubmit: (event) => event.preventDefault() });
  const text = make("textarea", { id: "pasted", spellcheck: "false", autocomplete: "off" });
  text.value = SAMPLE;
  const result = make("div", {}, );
  const status = make("p", { class: "quiet", role: "status" });
  let source = () => new Blob([text.value]);
  let run = 0;

  async function start() {
    write("try", settings, DEFAULTS);
    const mine = ++run;
    try {
      const seen = new Filter({ window: countOf(settings.window), falsePositiveRate: numberOf(settings.rate) });
      const number = countOf(settings.field);
      if (settings.by === "field" && number < 1) throw new RangeError("field 0 is not possible: the first field is 1");
      const blob = source();
      if (blob instanceof Error) throw blob;
      await filter(mine, blob, seen, finder({ ...settings, field: number }));
    } catch (error) {
      if (mine !== run) return;
      status.textContent = "";
      result.replaceChildren(problem(error.name === "NotReadableError" ? new Error("the file cannot be read: is it a directory, or has it changed? Drop it again") : error));
    }
  }

  async function filter(mine, blob, seen, itemOf) {
    const counts = { records: 0, dropped: 0, missing: 0 };
    const list = make("ol", { class: "lines", tabindex: "0", "aria-label": "Lines" });
    const decoder = new TextDecoder();
    let [done, painted] = [0, performance.now()];
    for await (const { lines, bytes } of linesOf(blob.stream())) {
      if (mine !== run) return;
      for (const line of lines) {
        const item = itemOf(line);
        const isDropped = item !== undefined && (settings.refresh === "every" ? seen.checkAndAdd(item) : seen.checkOrAdd(item));
        counts.records++;
        counts.dropped += isDropped;
        counts.missing += item === undefined;
        if (counts.records <= MOST_SHOWN) {
          const verdict = isDropped ? "dropped" : item === undefined ? "no item" : "kept";
          list.append(make("li", { class: verdict === "dropped" ? "dropped" : undefined }, make("span", {}, verdict), make("span", {}, decoder.decode(line.subarray(0, 2000)))));
        }
      }
      done += bytes;
      if (performance.now() - painted > 100) {
        status.textContent = `${humanBytes(done)} of ${humanBytes(blob.size)}, ${plain(counts.records)} lines`;
        await new Promise((resolve) => setTimeout(resolve));
        painted = performance.now();
      }
    }
    if (mine !== run) return;
    const kept = counts.records - counts.dropped;
    const share = counts.records === 0 ? "0" : digits((100 * counts.dropped) / counts.records);
    status.textContent = `Of ${plain(counts.records)} lines, ${plain(counts.dropped)} would be dropped (${share}%), with a filter of ${humanBytes(seen.memoryBytes)}.`;
    result.replaceChildren(
      figures([["lines", plain(counts.records)], ["kept", plain(kept)], ["dropped", plain(counts.dropped)], ["without an item, kept", plain(counts.missing)]]),
      counts.records > MOST_SHOWN ? make("p", { class: "quiet" }, `The first ${plain(MOST_SHOWN)} lines:`) : "",
      list,
    );
    seen.free();
  }

  const changed = (name) => (value) => {
    settings[name] = value;
    if (name === "by") build();
    start();
  };
  const input = (label, name, hint) => {
    const control = make("input", { type: "text", id: `try-${name}`, value: settings[name], autocomplete: "off", oninput: () => changed(name)(control.value.trim()) });
    return field(label, control, hint);
  };
  function build() {
    controls.replaceChildren(
      field("Compare", choices(BY, settings.by, changed("by"))),
      ...(settings.by === "field" ? [input("Field", "field", "the first is 1"), field("Separated by", choices(SEPARATORS, settings.separator, changed("separator")))] : []),
      ...(settings.by === "member" ? [input("Member", "member", "a text or an integer")] : []),
      input("Remember the last", "window", "lines: 5000, 100k or 1M"),
      input("False positive rate", "rate", "1e-4: one new line in 10 000 is dropped"),
      field("Refresh a line", choices(REFRESH, settings.refresh, changed("refresh"))),
    );
  }
  build();
  const again = () => {
    source = () => new Blob([text.value]);
    start();
  };
  text.addEventListener("input", again);
  main.append(
    make("p", { class: "quiet" }, "Paste lines or drop a file of any size, and see what lately dedup would drop. Nothing leaves this page."),
    make("div", { class: "columns" }, controls, make("div", {},
      dropZone("Drop a file of lines here, or choose one:", (file) => {
        source = () => file;
        start();
      }),
      field("Or paste lines", text), status, result)),
  );
  start();
  return () => void ++run;
}
