// What the page asks of the module beyond the package: curves, a capacity, and a small filter to look into.
import "./filter/browser.js";
import { attempt, replyNumbers, wasm, writeNumbers } from "./filter/core.js";
import { writeItem } from "./filter/items.js";
import { writeOptions } from "./filter/options.js";

/** How many items come in a span. */
export function capacityOf(perSecond, spanMs) {
  attempt(wasm.capacity(perSecond, spanMs));
  return replyNumbers()[0];
}

/** The points of a curve, as pairs. `along` and `of` are places in the lists of `plots.js`. */
export function curve(along, of, options) {
  attempt(wasm.curve(writeOptions("curve", options, [along, of])));
  const numbers = [...replyNumbers()];
  return numbers.flatMap((number, index) => (index % 2 === 0 ? [[number, numbers[index + 1]]] : []));
}

/** A small filter. `layout` says how its replies are read: `watch_slices.js` or `watch_bins.js`. */
export class Scene {
  #number;
  #layout;
  constructor(layout, within) {
    this.#layout = layout;
    this.#number = attempt(wasm.scene_new(writeNumbers([layout.k ?? NaN, layout.l, layout.items, within ?? NaN])));
  }
  insert(item) {
    attempt(wasm.scene_insert(this.#number, writeItem(item)));
    const [shifted, ...place] = replyNumbers();
    return { shifted: shifted === 1, place: this.#layout.readPlace(place) };
  }
  query(item) {
    attempt(wasm.scene_query(this.#number, writeItem(item)));
    const [seen, ...why] = replyNumbers();
    return { seen: seen === 1, ...this.#layout.readAnswer(why) };
  }
  advance(now) {
    attempt(wasm.scene_advance(this.#number, now));
  }
  look() {
    attempt(wasm.scene_look(this.#number));
    const numbers = replyNumbers();
    const names = ["requiredMatches", "windowGenerations", "cells", "generation", "inserts", "guaranteedWindow", "overloadedGenerations", "predictedRate", "estimatedRate"];
    const view = Object.fromEntries(names.map((name, index) => [name, numbers[index]]));
    return { ...view, ...this.#layout.readMemory(numbers.slice(names.length), view) };
  }
  /** Asks for new items, and returns how many were mistaken. */
  measure(strangers) {
    return attempt(wasm.scene_measure(this.#number, strangers));
  }
  free() {
    wasm.scene_free(this.#number);
    this.#number = -1;
  }
}
