// The view Watch: a small filter at work. All that is shown is what the core did; each layout has its picture.
import { settingsWith, write } from "./address.js";
import { choices, draw, field, figures, make, problem } from "./elements.js";
import { Scene } from "./scene.js";
import { bins } from "./watch_bins.js";
import { slices } from "./watch_slices.js";
import { plain } from "./words.js";

const LAYOUTS = { bins, slices };
const DEFAULTS = { layout: "bins", kind: "count" };
const SPAN_MS = 10_000;
/** New items that are asked for after each change, to measure the rate. */
const STRANGERS = 2_000;
/** Items that can be asked for again. */
const REMEMBERED = 2_000;
const percent = (share) => `${(share * 100).toFixed(1)}%`;

export function open(main, given) {
  const settings = settingsWith(DEFAULTS, given);
  if (!Object.hasOwn(LAYOUTS, settings.layout)) settings.layout = DEFAULTS.layout;
  if (!["count", "time"].includes(settings.kind)) settings.kind = DEFAULTS.kind;
  const canvas = make("canvas", { id: "scene", role: "img" });
  const said = make("p", { class: "lead", role: "status", id: "said" });
  const facts = make("div", { id: "facts" });
  const buttons = make("div", { class: "row" });
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const about = make("p", { class: "quiet" });
  const legend = make("ul", { class: "legend" });
  let layout;
  let scene;
  let state;
  let frame = 0;
  let timer;

  function restart() {
    scene?.free();
    layout = LAYOUTS[settings.layout];
    scene = new Scene(layout, settings.kind === "time" ? SPAN_MS : undefined);
    state = { items: [], inserted: 0, now: 0, mistaken: 0, questions: 0, place: undefined, answer: undefined, moved: 0, view: undefined, previous: undefined };
    if (settings.kind === "time") scene.advance(0);
    look();
    for (let count = 0; count < layout.atFirst; count++) insert();
    measure();
    show();
  }

  function look() {
    state.previous = state.view;
    state.view = scene.look();
    if (state.previous && state.view.generation > state.previous.generation) state.moved = performance.now();
  }

  function insert() {
    if (settings.kind === "time") scene.advance((state.now += layout.paceMs));
    add();
  }
  function add() {
    const number = ++state.inserted;
    const had = scene.query(`item ${number}`);
    const inserted = scene.insert(`item ${number}`);
    look();
    state.items = [...state.items, { number, generation: state.view.generation }].slice(-REMEMBERED);
    Object.assign(state, { place: inserted.place, answer: undefined });
    said.textContent = layout.inserted(number, { ...inserted, had });
  }
  const measure = () => (state.mistaken = scene.measure(STRANGERS));

  function ask(item) {
    const answer = scene.query(item ? `item ${item.number}` : `never inserted ${state.questions++}`);
    Object.assign(state, { answer, place: undefined });
    const who = item ? `Item ${item.number}, ${state.inserted - item.number} inserts ago` : "An item that was never inserted";
    said.textContent = `${who}: ${layout.answered(answer, state.view)}${answer.seen && !item ? " This is a false positive." : ""}`;
    show();
  }
  /** The latest item of a generation. */
  const itemOfAge = (age) => state.items.findLast(({ generation }) => generation === state.view.generation - age);
  function askAge(age) {
    const item = itemOfAge(age);
    if (item) ask(item);
    else {
      said.textContent = `No item was inserted in the generation of age ${age}.`;
    }
  }

  function show() {
    const { view, mistaken } = state;
    const list = [
      ["inserts", plain(view.inserts)],
      ["shifts", plain(view.generation)],
      ["certain to be reported", `${plain(view.guaranteedWindow)} inserts`],
      ["predicted rate, at worst", percent(view.predictedRate)],
      ["predicted rate now, at most", percent(view.estimatedRate)],
      [`measured rate now, of ${plain(STRANGERS)}`, percent(mistaken / STRANGERS)],
    ];
    if (settings.kind === "time") list.push(["clock", `${(state.now / 1000).toFixed(1)} s`], ["overloaded generations", plain(view.overloadedGenerations)]);
    facts.replaceChildren(figures(list));
    canvas.setAttribute("aria-label", layout.described(view));
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paint);
  }

  function paint() {
    const width = Math.max(300, canvas.clientWidth);
    const height = layout.height(state.view);
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
      canvas.style.height = `${height}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const to = canvas.getContext("2d");
    to.setTransform(scale, 0, 0, scale, 0, 0);
    to.globalAlpha = 1;
    to.fillStyle = colour("panel");
    to.fillRect(0, 0, width, height);
    to.font = "13px system-ui, sans-serif";
    to.textBaseline = "middle";
    const done = isStill.matches ? 1 : Math.min(1, (performance.now() - state.moved) / 350);
    layout.paint(to, { ...state, done, width, colour });
    if (done < 1) frame = requestAnimationFrame(paint);
  }

  const speed = make("input", { type: "range", min: 0, max: 5, step: 1, value: 2, id: "speed", oninput: () => timer && play() });
  const names = ["slow", "unhurried", "usual", "brisk", "fast", "very fast"];
  const followSpeed = () => speed.setAttribute("aria-valuetext", names[Number(speed.value)]);
  speed.addEventListener("input", followSpeed);
  followSpeed();
  const playing = make("button", { type: "button", id: "play", "aria-pressed": "false", onclick: () => (timer ? pause() : play()) }, "Play");
  function play() {
    clearInterval(timer);
    timer = setInterval(() => {
      insert();
      measure();
      show();
    }, 1600 / 2 ** Number(speed.value));
    playing.setAttribute("aria-pressed", "true");
  }
  function pause() {
    clearInterval(timer);
    timer = undefined;
    playing.setAttribute("aria-pressed", "false");
  }
  const button = (text, id, onclick) => make("button", { type: "button", id, onclick }, text);
  const age = make("input", { type: "range", min: 0, max: 7, step: 1, value: 2, id: "age" });
  const tellAge = () => age.setAttribute("aria-valuetext", `age ${age.value}`);
  age.addEventListener("input", () => {
    tellAge();
    askAge(Number(age.value));
  });
  tellAge();

  function build() {
    layout = LAYOUTS[settings.layout];
    age.max = layout.oldest;
    age.value = 2;
    tellAge();
    about.textContent = layout.about;
    legend.replaceChildren(
      ...Object.entries(layout.legend).map(([colour, text]) => make("li", {}, draw("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, draw("rect", { class: `swatch ${colour}`, x: 8, y: 0.5, width: 18, height: 11 })), text)),
    );
    buttons.replaceChildren(
      playing,
      button("Step", "step", () => {
        insert();
        measure();
        show();
      }),
      ...(settings.kind === "time"
        ? [
            button("Burst of 40", "burst", () => {
              for (let count = 0; count < 40; count++) add();
              measure();
              said.textContent = `40 items at once. ${layout.burst}`;
              show();
            }),
            button("Idle for 4 s", "idle", () => {
              scene.advance((state.now += 4_000));
              Object.assign(state, { place: undefined, answer: undefined });
              look();
              measure();
              said.textContent = "4 seconds without an item: the generations shift with the clock, and old items leave.";
              show();
            }),
          ]
        : []),
      button("Ask for a new item", "stranger", () => ask(undefined)),
      button("Start again", "restart", restart),
    );
  }
  canvas.addEventListener("click", (event) => {
    const at = layout.ageAt(state.view, event.offsetX, event.offsetY, Math.max(300, canvas.clientWidth));
    if (at !== undefined) askAge(at);
  });
  function change(name) {
    return (value) => {
      settings[name] = value;
      write("watch", settings, DEFAULTS);
      pause();
      build();
      restart();
    };
  }
  try {
    build();
    restart();
  } catch (error) {
    main.append(problem(error));
    return;
  }
  main.append(
    about,
    make("div", { class: "columns" },
      make("div", { class: "panel" },
        field("Layout", choices({ bins: "bins, the usual one", slices: "slices, the paper's" }, settings.layout, change("layout"))),
        field("Never forget", choices({ count: "the last items, by count", time: "the last 10 seconds" }, settings.kind, change("kind"))),
        field("Speed", speed),
        field("Ask for the latest item of age", age, "or click one in the picture")),
      make("div", {}, buttons, make("div", { class: "panel" }, canvas, legend), said, facts)),
  );
  const repaint = () => show();
  dark.addEventListener("change", repaint);
  const observer = new ResizeObserver(repaint);
  observer.observe(canvas.parentElement);
  return () => {
    pause();
    cancelAnimationFrame(frame);
    observer.disconnect();
    dark.removeEventListener("change", repaint);
    scene.free();
  };
}
