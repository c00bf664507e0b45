/** @import { ZotErrorOptions } from "./index.js" */

/** The only error class; `code` says what went wrong. */
export class ZotError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {ZotErrorOptions} [options]
   */
  constructor(code, message, options = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ZotError";
    this.code = code;
    this.command = options.command;
    this.retryAfterMs = options.retryAfterMs;
    this.stderr = options.stderr;
  }
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
