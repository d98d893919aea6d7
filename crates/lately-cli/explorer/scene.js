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

export class Scene {
  #number;
  constructor([k, l], items, within) {
    this.#number = attempt(wasm.scene_new(writeNumbers([k, l, items, within ?? NaN])));
  }
  insert(item) {
    attempt(wasm.scene_insert(this.#number, writeItem(item)));
    const [shifted, ...cells] = replyNumbers();
    return { shifted: shifted === 1, cells };
  }
  query(item) {
    attempt(wasm.scene_query(this.#number, writeItem(item)));
    const [seen, run, ...cells] = replyNumbers();
    return {
      seen: seen === 1,
      run: Number.isNaN(run) ? null : run,
      cells: cells.flatMap((cell, index) => (index % 2 === 0 ? [{ cell, set: cells[index + 1] === 1 }] : [])),
    };
  }
  advance(now) {
    attempt(wasm.scene_advance(this.#number, now));
  }
  look() {
    attempt(wasm.scene_look(this.#number));
    const numbers = replyNumbers();
    const names = ["requiredMatches", "windowGenerations", "cells", "itemsPerGeneration", "generation", "inserts", "guaranteedWindow", "nextShiftMs", "overloadedGenerations", "predictedRate", "estimatedRate"];
    const view = Object.fromEntries(names.map((name, index) => [name, numbers[index]]));
    view.segments = [];
    for (let at = names.length; at < numbers.length; ) {
      const [fill, count] = numbers.slice(at, at + 2);
      view.segments.push({ fill, set: numbers.slice(at + 2, at + 2 + count) });
      at += 2 + count;
    }
    return view;
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
