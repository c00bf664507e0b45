// Copied from @zot/ext by scripts/generate.js: change it there.
/**
 * Frames as lines: bytes in, parsed JSON out, and back.
 *
 * Lines are split on the byte LF before they are decoded, so that neither a character cut in two by
 * a chunk nor U+2028 inside a string can break a frame.
 */

/** What the protocol allows for one line, the LF not counted. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

const LF = 0x0a;

export class LineReader {
  /** @type {Buffer[]} */
  #pieces = [];
  #length = 0;
  #skipping = false;
  #decoder = new TextDecoder("utf-8", { fatal: true });
  #onValue;
  #onBroken;
  #maxBytes;

  /**
   * @param {(value: unknown) => void} onValue
   * @param {(reason: string, line: string) => void} onBroken
   * @param {number} [maxBytes] longer lines are skipped
   */
  constructor(onValue, onBroken, maxBytes = MAX_FRAME_BYTES) {
    this.#onValue = onValue;
    this.#onBroken = onBroken;
    this.#maxBytes = maxBytes;
  }

  /** @param {Buffer} chunk */
  push(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#take(chunk.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start));
  }

  /** The input is over; a last line without LF counts. */
  end() {
    this.#finish();
  }

  /** @param {Buffer} piece */
  #take(piece) {
    if (this.#skipping) return;
    this.#length += piece.length;
    this.#pieces.push(piece);
    if (this.#length > this.#maxBytes) {
      this.#onBroken(`longer than ${this.#maxBytes} bytes`, "");
      this.#pieces = [];
      this.#skipping = true;
    }
  }

  #finish() {
    const bytes = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
    const skipped = this.#skipping;
    this.#pieces = [];
    this.#length = 0;
    this.#skipping = false;
    if (skipped || bytes === undefined) return;
    let line;
    let value;
    try {
      line = this.#decoder.decode(bytes);
      if (line.trim() === "") return;
      value = JSON.parse(line);
    } catch (error) {
      this.#onBroken(error instanceof Error ? error.message : String(error), line ?? bytes.toString("latin1"));
      return;
    }
    this.#onValue(value);
  }
}

/**
 * One line of JSON. U+2028 and U+2029 are legal in JSON, but there are readers that end a line there.
 * @param {object} frame
 */
export function encodeLine(frame) {
  return `${JSON.stringify(frame).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`;
}
