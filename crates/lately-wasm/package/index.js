// What the package has, once the module has started.
export { ConfigError, JumpError, SnapshotError } from "./errors.js";
export { Filter, plan } from "./filter.js";
export { itemBytes } from "./items.js";
export { dedup } from "./dedup.js";
