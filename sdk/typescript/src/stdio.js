/** Reserves standard output for frames: everything else that is printed goes to standard error, the log. */

/** @typedef {(line: string, done?: () => void) => void} WriteLine */

/** @type {WriteLine | undefined} */
let taken;

/** @type {() => void} */
let readerGone = () => {};

/**
 * Reserves standard output and returns the only function that still writes to it.
 * @returns {WriteLine}
 */
export function takeStdout() {
  if (taken !== undefined) return taken;
  const stdout = process.stdout;
  const write = stdout.write.bind(stdout);
  if (/** @type {{ bytesWritten?: number }} */ (stdout).bytesWritten) {
    log("something was printed to standard output before `new Extension`: zot reads it as an invalid frame");
  }
  // The console may already hold the stream, so both the stream and its name are redirected.
  const redirected = /** @type {typeof stdout.write} */ (process.stderr.write.bind(process.stderr));
  stdout.write = redirected;
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
  stdout.on("error", () => readerGone());
  taken = (line, done) => void write(line, () => done?.());
  return taken;
}

/** @param {() => void} callback runs when the frames are no longer read */
export function onReaderGone(callback) {
  readerGone = callback;
}

/**
 * @param {string} message
 * @param {unknown} [error]
 */
export function log(message, error) {
  const detail = error === undefined ? "" : `: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  process.stderr.write(`[@zot/ext] ${message}${detail}\n`);
}
