/** Standard output for frames alone: whatever else is printed goes to standard error, the log. */

/** @typedef {(line: string, done?: () => void) => void} WriteLine */

/** @type {WriteLine | undefined} */
let taken;

/** @type {() => void} */
let readerGone = () => {};

/**
 * Takes standard output away from everybody else and returns the only way left to write to it.
 * @returns {WriteLine}
 */
export function takeStdout() {
  if (taken !== undefined) return taken;
  const stdout = process.stdout;
  const write = stdout.write.bind(stdout);
  if (/** @type {{ bytesWritten?: number }} */ (stdout).bytesWritten) {
    log("something was printed to standard output before `new Extension`: zot takes it for a broken frame");
  }
  // The console may hold the stream already, so the stream itself is redirected as well as the name.
  const redirected = /** @type {typeof stdout.write} */ (process.stderr.write.bind(process.stderr));
  stdout.write = redirected;
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
  stdout.on("error", () => readerGone());
  taken = (line, done) => void write(line, () => done?.());
  return taken;
}

/** @param {() => void} callback runs when nobody reads the frames any more */
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
