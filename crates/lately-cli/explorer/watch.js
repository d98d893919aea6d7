// The view Watch: a small filter of slices, bit by bit. Every bit that is shown was set by the core.
import { settingsWith, write } from "./address.js";
import { choices, field, figures, make, problem } from "./elements.js";
import { Scene } from "./scene.js";
import { plain } from "./words.js";

const DEFAULTS = { kind: "count" };
const KINDS = { count: "the last 60 items", time: "the last 10 seconds, at most 60 items" };
const SHAPE = [3, 5];
const ITEMS = 60;
const SPAN_MS = 10_000;
/** At the usual pace a time window gets an item in this time. */
const PACE_MS = 200;
/** New items that are asked for after each insert, to measure the rate. */
const STRANGERS = 40;
/** The rate is that of the latest measurements, so it follows what happens. */
const MOST_MEASURED = 50;
const percent = (share) => `${(share * 100).toFixed(1)}%`;
const [LABEL, ROW, GAP] = [118, 30, 8];

export function open(main, given) {
  const settings = settingsWith(DEFAULTS, given);
  if (!(settings.kind in KINDS)) settings.kind = DEFAULTS.kind;
  const canvas = make("canvas", { id: "scene", role: "img" });
  const said = make("p", { class: "lead", role: "status", id: "said" });
  const facts = make("div", { id: "facts" });
  const buttons = make("div", { class: "row" });
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let scene;
  let state;
  let frame = 0;
  let timer;

  function restart() {
    scene?.free();
    scene = new Scene(SHAPE, ITEMS, settings.kind === "time" ? SPAN_MS : undefined);
    state = { items: [], now: 0, measured: [], questions: 0, lit: [], answer: undefined, moved: 0, view: undefined, previous: undefined };
    if (settings.kind === "time") scene.advance(0);
    said.textContent = "An item sets one bit in each of the three newest segments.";
    look();
    for (let count = 0; count < 20; count++) insert();
    show();
  }

  function look() {
    const before = state.view?.generation ?? 0;
    state.view = scene.look();
    if (state.view.generation > before) state.moved = performance.now();
  }

  function insert() {
    if (settings.kind === "time") scene.advance((state.now += PACE_MS));
    add();
  }
  function add() {
    const number = state.items.length + 1;
    const { shifted, cells } = scene.insert(`item ${number}`);
    look();
    state.items.push({ number, generation: state.view.generation });
    Object.assign(state, { lit: cells, answer: undefined });
    measure();
    const where = cells.map((cell, age) => `${cell} at age ${age}`).join(", ");
    said.textContent = `Item ${number} sets bits ${where}.${shifted ? " The generation was full: the oldest segment was emptied and became the newest." : ""}`;
  }
  function measure() {
    state.measured = [...state.measured, scene.measure(STRANGERS)].slice(-MOST_MEASURED);
  }

  function ask(item) {
    const answer = scene.query(item ? `item ${item.number}` : `never inserted ${state.questions++}`);
    Object.assign(state, { answer, lit: [] });
    const ago = item && state.items.length - item.number;
    const who = item ? `Item ${item.number}, ${ago} inserts ago` : "An item that was never inserted";
    const k = state.view.requiredMatches;
    const matches = answer.cells.filter(({ set }) => set).length;
    said.textContent = answer.seen
      ? `${who}: reported. The segments of ages ${answer.run} to ${answer.run + k - 1} match: ${k} in a row.${item ? "" : " This is a false positive."}`
      : `${who}: not reported. ${matches} of ${answer.cells.length} segments match, but not ${k} in a row.`;
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
    const { view, measured } = state;
    const asked = measured.length * STRANGERS;
    const mistaken = measured.reduce((sum, one) => sum + one, 0);
    const list = [
      ["inserts", plain(view.inserts)],
      ["shifts", plain(view.generation)],
      ["certain to be reported", `${plain(view.guaranteedWindow)} inserts`],
      ["predicted rate, at worst", percent(view.predictedRate)],
      ["rate with these bits", percent(view.estimatedRate)],
      ["measured rate", asked === 0 ? "none yet" : `${percent(mistaken / asked)} of ${plain(asked)}`],
    ];
    if (settings.kind === "time") list.push(["clock", `${(state.now / 1000).toFixed(1)} s`], ["overloaded generations", plain(view.overloadedGenerations)]);
    facts.replaceChildren(figures(list));
    canvas.setAttribute("aria-label", `${view.segments.length} segments, newest first, with fills of ${view.segments.map(({ fill }) => `${Math.round(fill * 100)}%`).join(", ")}`);
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paint);
  }

  function paint() {
    const { view, lit, answer } = state;
    const [k, l] = [view.requiredMatches, view.windowGenerations];
    const width = Math.max(300, canvas.clientWidth);
    const label = width < 560 ? 80 : LABEL;
    const height = view.segments.length * ROW + 2 * GAP;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
      canvas.style.height = `${height}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const to = canvas.getContext("2d");
    to.setTransform(scale, 0, 0, scale, 0, 0);
    to.fillStyle = colour("panel");
    to.fillRect(0, 0, width, height);
    const done = isStill.matches ? 1 : Math.min(1, (performance.now() - state.moved) / 350);
    const cell = (width - label - 8) / view.cells;
    view.segments.forEach(({ fill, set }, age) => {
      // After a shift, segments slide from the place of the age that they had.
      const top = GAP + (age - (1 - done)) * ROW;
      const isFading = age > l;
      to.globalAlpha = age === 0 ? done : 1;
      if (isFading) {
        to.fillStyle = colour("warm");
        to.fillRect(0, top, width, ROW - 2);
      }
      to.fillStyle = colour("text");
      to.font = "13px system-ui, sans-serif";
      to.textBaseline = "middle";
      const zone = age < k ? "written" : isFading ? "fading" : "window";
      to.fillText(label === LABEL ? `age ${age}  ${zone}` : `${age} ${zone}`, 8, top + ROW / 2 - 1);
      const bits = new Set(set);
      for (let bit = 0; bit < view.cells; bit++) {
        const x = label + bit * cell;
        to.fillStyle = bits.has(bit) ? colour(isFading ? "quiet" : "strong") : colour("grid");
        to.fillRect(x, top + 5, Math.max(1, cell - 1.5), ROW - 13);
      }
      if (lit[age] !== undefined) mark(to, label + lit[age] * cell, top, cell, colour("lit"), true);
      if (answer) {
        const { cell: bit, set: isSet } = answer.cells[age];
        const isInRun = answer.run !== null && age >= answer.run && age < answer.run + k;
        mark(to, label + bit * cell, top, cell, isSet ? colour("lit") : colour("text"), isInRun);
        if (isInRun) {
          to.fillStyle = colour("lit");
          to.fillRect(0, top + 2, 4, ROW - 6);
        }
      }
      // The fill, as a line beneath the bits.
      to.fillStyle = colour("quiet");
      to.fillRect(label, top + ROW - 5, (width - label - 8) * fill, 2);
    });
    to.globalAlpha = 1;
    if (done < 1) frame = requestAnimationFrame(paint);
  }
  function mark(to, x, top, cell, colour, isFull) {
    to.strokeStyle = to.fillStyle = colour;
    to.lineWidth = 2;
    if (isFull) to.fillRect(x - 1, top + 3, cell + 0.5, ROW - 9);
    to.strokeRect(x - 2, top + 2, cell + 2.5, ROW - 7);
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
  const age = make("input", { type: "range", min: 0, max: SHAPE[0] + SHAPE[1] - 1, step: 1, value: 2, id: "age" });
  const tellAge = () => age.setAttribute("aria-valuetext", `age ${age.value}`);
  age.addEventListener("input", () => {
    tellAge();
    askAge(Number(age.value));
  });
  tellAge();

  function build() {
    buttons.replaceChildren(
      playing,
      button("Step", "step", () => {
        insert();
        show();
      }),
      ...(settings.kind === "time"
        ? [
            button("Burst of 40", "burst", () => {
              for (let count = 0; count < 40; count++) add();
              said.textContent = "40 items at once. The clock has not moved, so the generation has not shifted; it is fuller than planned, and so the rate rises.";
              show();
            }),
            button("Idle for 4 s", "idle", () => {
              scene.advance((state.now += 4_000));
              Object.assign(state, { lit: [], answer: undefined });
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
  canvas.addEventListener("click", (event) => askAge(Math.max(0, Math.min(state.view.segments.length - 1, Math.floor((event.offsetY - GAP) / ROW)))));
  try {
    build();
    restart();
  } catch (error) {
    main.append(problem(error));
    return;
  }
  main.append(
    make("p", { class: "quiet" }, "A real filter, small enough to see each bit. An item sets one bit in each of the newest three segments. A query looks for three segments in a row that have the item's bit. When a generation is full, all segments grow older by one; those that fade still know parts of items that have left the window."),
    make("div", { class: "columns" },
      make("div", { class: "panel" },
        field("Never forget", choices(KINDS, settings.kind, (value) => {
          settings.kind = value;
          write("watch", settings, DEFAULTS);
          pause();
          build();
          restart();
        })),
        field("Speed", speed),
        field("Ask for the latest item of age", age, "or click a segment")),
      make("div", {}, buttons, make("div", { class: "panel" }, canvas), said, facts)),
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
