import { encodeLine, LineReader, MAX_FRAME_BYTES } from "./lines.js";
import { log, onReaderGone, takeStdout } from "./stdio.js";

/** @import { ExtensionFrame } from "./frames.js" */

/** How long a stalled reader may delay the end of the process. */
const FLUSH_LIMIT_MS = 500;

/** The frames of this process: standard input and standard output. */
export class Connection {
  #write = takeStdout();
  #closed = false;

  /**
   * @param {(frame: { type: string, [field: string]: unknown }) => void} onFrame
   * @param {() => void} onEnd
   */
  listen(onFrame, onEnd) {
    const reader = new LineReader(
      (value) => {
        const frame = /** @type {{ type: string, [field: string]: unknown }} */ (value);
        if (typeof value === "object" && value !== null && typeof frame.type === "string") onFrame(frame);
        else log(`skipped a line that is not a frame: ${excerpt(JSON.stringify(value))}`);
      },
      (reason, line) => log(`skipped an invalid frame (${reason}): ${excerpt(line)}`),
    );
    process.stdin.on("data", (chunk) => reader.push(/** @type {Buffer} */ (chunk)));
    process.stdin.on("end", () => {
      reader.end();
      onEnd();
    });
    process.stdin.on("error", onEnd);
    onReaderGone(onEnd);
  }

  /** @param {ExtensionFrame} frame */
  send(frame) {
    if (this.#closed) return;
    const line = encodeLine(frame);
    // A UTF-16 unit takes at most three bytes in UTF-8, so only long lines need counting.
    if (line.length * 3 > MAX_FRAME_BYTES && Buffer.byteLength(line) - 1 > MAX_FRAME_BYTES) {
      throw new RangeError(`a ${frame.type} frame of ${Buffer.byteLength(line) - 1} bytes exceeds the limit of ${MAX_FRAME_BYTES}`);
    }
    this.#write(line);
  }

  /** Sends a last frame, drops all later ones, and waits until it has been written. */
  async close(/** @type {ExtensionFrame} */ last) {
    if (this.#closed) return;
    this.#closed = true;
    await new Promise((resolve) => {
      setTimeout(resolve, FLUSH_LIMIT_MS);
      this.#write(encodeLine(last), () => resolve(undefined));
    });
  }
}

/** @param {string} line */
function excerpt(line) {
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
