// Code that builds the filter that was planned.
const seconds = (millis) => (millis % 1000 === 0 ? `from_secs(${millis / 1000})` : `from_millis(${millis})`);
const rate = (number) => number.toExponential().replace("e+0", "e0");

/** Returns the code for each front-end. `options` are those of `new Filter`. */
export function codeFor({ window, within, capacity, falsePositiveRate, maxSlack, prefer, maxMemory }, layout) {
  const js = Object.entries({ window, within, capacity, falsePositiveRate, maxSlack, prefer, maxMemory })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const timed = within !== undefined;
  const p = falsePositiveRate === undefined ? undefined : rate(falsePositiveRate);
  const named = prefer && prefer[0].toUpperCase() + prefer.slice(1);
  const rust = [
    "let mut seen = lately::Filter::builder()",
    timed ? `    .time_window(std::time::Duration::${seconds(within)})` : window !== undefined && `    .window(${window})`,
    capacity !== undefined && `    .capacity(${capacity})`,
    p && `    .false_positive_rate(${p})`,
    maxSlack !== undefined && `    .max_slack(${maxSlack})`,
    prefer && `    .prefer(lately::Prefer::${named})`,
    maxMemory !== undefined && `    .max_memory(${maxMemory})`,
    "    .build()?;",
    timed && "seen.advance_to(now_ms);                // your clock, in milliseconds",
    "if !seen.check_and_insert(id) { handle(id); }",
  ];
  const flags = [
    timed ? `--within ${within}ms` : `--window ${window}`,
    capacity !== undefined && `--capacity ${capacity}`,
    p && `--fp ${p}`,
    maxSlack !== undefined && `--slack ${maxSlack}`,
    prefer && `--prefer ${prefer}`,
    maxMemory !== undefined && `--max-memory ${maxMemory}`,
  ];
  const python = [
    timed ? `within=timedelta(milliseconds=${within})` : `window=${window}`,
    capacity !== undefined && `capacity=${capacity}`,
    p && `false_positive_rate=${p}`,
    maxSlack !== undefined && `max_slack=${maxSlack}`,
    prefer && `prefer="${prefer}"`,
    maxMemory !== undefined && `max_memory=${maxMemory}`,
  ];
  const present = (list, separator) => list.filter(Boolean).join(separator);
  return {
    Rust: present(rust, "\n"),
    Command: `lately dedup ${present(flags, " ")} < records`,
    Redis: redis({ window, within, capacity, p, maxSlack, layout: prefer && layout, maxMemory }),
    Python: `${timed ? "from datetime import timedelta\n" : ""}from lately import Filter\n\nseen = Filter(${present(python, ", ")})\nif not seen.check_and_add(id):\n    handle(id)`,
    JavaScript: `import { Filter } from "lately-filter";\n\nconst seen = new Filter({ ${js.join(", ")} });\nif (!seen.checkAndAdd(id)) handle(id);`,
  };
}

/** Redis has no preference and no limit of its own: the layout that was chosen stands for the one, a config for the other. */
function redis({ window, within, capacity, p, maxSlack, layout, maxMemory }) {
  const options = [
    within !== undefined && `SPAN ${within}`,
    maxSlack !== undefined && `SLACK ${maxSlack}`,
    layout && !(within !== undefined && capacity === undefined) && `LAYOUT ${layout.toUpperCase()}`,
  ];
  const items = window ?? capacity ?? 0;
  const limit = maxMemory !== undefined ? `CONFIG SET apbf.max-bytes-per-key ${maxMemory}\n` : "";
  return `${limit}${["APBF.RESERVE seen", p, String(items), ...options].filter(Boolean).join(" ")}\nAPBF.ADD seen ID`;
}
