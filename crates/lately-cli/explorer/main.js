// Shows the view that the address names.
import { read } from "./address.js";
import { make, problem } from "./elements.js";

const main = document.getElementById("view");
const views = { plan: "Plan a filter", watch: "Watch a filter work", try: "Try it on your lines", inspect: "Look into a state" };
let leave = () => {};
let shown;

async function show() {
  const { view, settings } = read();
  const name = view === "" ? "plan" : view;
  leave();
  leave = () => {};
  const title = Object.hasOwn(views, name) ? views[name] : undefined;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `lately: ${title ? title.toLowerCase() : "no such view"}`;
  main.replaceChildren(make("h1", {}, title ?? "There is no such view"));
  try {
    if (title === undefined) throw new Error(`'${name}' is not a view: choose one of ${Object.keys(views).join(", ")} above`);
    const { open } = await import(`./${name}.js`).catch((error) => {
      throw error instanceof TypeError ? new Error("The page cannot load its own files: start lately explore again, or check the web server, and reload the page") : error;
    });
    leave = open(main, settings) ?? leave;
  } catch (error) {
    main.append(problem(typeof WebAssembly === "undefined" ? new Error("WebAssembly is missing in this browser, and this page needs it: switch it on, use another browser, or use the command lately plan") : error));
  }
  // After a change of the view, a screen reader continues here.
  if (shown !== undefined && shown !== name) main.focus();
  shown = name;
}

addEventListener("hashchange", show);
// A file that misses its place must not replace the page.
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => event.preventDefault());
show();
