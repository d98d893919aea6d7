// The package for browsers and bundlers: fetches the module.
import { start } from "./core.js";

const address = new URL("./lately.wasm", import.meta.url);
await start(
  fetch(address).then((response) => {
    if (!response.ok) throw new Error(`cannot load ${address}: the server answered ${response.status}`);
    return response.arrayBuffer();
  }),
);

export * from "./index.js";
