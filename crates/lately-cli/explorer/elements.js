// Small helpers to build the page.

/** Makes an element. Attributes whose names begin with `on` are listeners; others are set unless they are undefined. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") element.toggleAttribute(key, value);
    else if (value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** Makes an element of a drawing. */
export function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

let named = 0;
/** Gives a control a label, and a hint under it. */
export function field(label, control, hint) {
  control.id ||= `control-${++named}`;
  const note = hint === undefined ? undefined : make("span", { class: "quiet", id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return make("div", { class: "field" }, make("label", { for: control.id }, label), control, note);
}

/** A list of choices. */
export function choices(options, chosen, onchange) {
  const select = make("select", { onchange: () => onchange(select.value) });
  for (const [value, text] of Object.entries(options)) select.append(make("option", { value }, text));
  select.value = chosen;
  return select;
}

export const problem = (error) => make("p", { class: "problem", role: "alert" }, error instanceof Error ? error.message : String(error));

/** Figures with their names. */
export function figures(list) {
  return make("dl", { class: "figures" }, ...list.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

/** A place where a file can be dropped or chosen. */
export function dropZone(text, accept) {
  const input = make("input", { type: "file", id: `file-${++named}`, onchange: () => input.files[0] && take(input.files) });
  const zone = make("div", { class: "drop" }, make("label", { for: input.id }, text), " ", input);
  const take = (files) => (files.length === 1 ? accept(files[0]) : accept(new Error(`${files.length} files were dropped: drop one`)));
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length > 0) take(event.dataTransfer.files);
  });
  return zone;
}
