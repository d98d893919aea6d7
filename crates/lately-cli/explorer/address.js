// The address holds the state of a view, so it can be shared: #plan?window=1M&rate=1e-4
/** Returns the view that the address names, and its settings. */
export function read() {
  const [view, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view, settings: Object.fromEntries(new URLSearchParams(query)) };
}

/** Writes settings that differ from the defaults. */
export function write(view, settings, defaults) {
  const given = Object.entries(settings).filter(([name, value]) => value !== defaults[name]);
  const query = new URLSearchParams(given).toString();
  history.replaceState(null, "", `#${view}${query ? `?${query}` : ""}`);
}

/** The defaults with what the address gives; settings that the view does not have are left out. */
export function settingsWith(defaults, given) {
  return Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, given[name] ?? value]));
}
