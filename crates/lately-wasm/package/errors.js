// The classes of errors.

/** A filter cannot be built as asked. The message names the value, the limit and the remedy. */
export class ConfigError extends RangeError {
  name = "ConfigError";
}
/** Bytes are not exactly one valid snapshot that this version can read. */
export class SnapshotError extends Error {
  name = "SnapshotError";
}
/** A time is further ahead of the latest one than `maxJump`. Nothing has changed then. */
export class JumpError extends RangeError {
  name = "JumpError";
}

const kinds = { c: ConfigError, s: SnapshotError, j: JumpError, t: TypeError, m: RangeError, i: Error };

/** The error that a reply of the module describes: the first letter of its kind, and its message. */
export const errorOf = (reply) => new kinds[reply[0]](reply.slice(1));
