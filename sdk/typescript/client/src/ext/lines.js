// Copied from @zot/ext by scripts/generate.js: change it there.
/**
 * Frames as lines: decodes bytes to JSON values, and encodes them.
 *
 * Lines are split on the byte LF before they are decoded, so that neither a character split by a
 * chunk nor U+2028 inside a string can break a frame.
 */

/** The limit of the protocol for one line, without its LF. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

const LF = 0x0a;

export class LineReader {
  /** @type {Buffer[]} */
  #pieces = [];
  #length = 0;
  #skipping = false;
  #decoder = new TextDecoder("utf-8", { fatal: true });
  #onValue;
  #onInvalid;
  #maxBytes;

  /**
   * @param {(value: unknown) => void} onValue
   * @param {(reason: string, line: string) => void} onBroken
   * @param {number} [maxBytes] longer lines are skipped
   */
  constructor(onValue, onBroken, maxBytes = MAX_FRAME_BYTES) {
    this.#onValue = onValue;
    this.#onInvalid = onBroken;
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

  /** Ends the input; a last line without LF counts. */
  end() {
    this.#finish();
  }

  /** @param {Buffer} piece */
  #take(piece) {
    if (this.#skipping) return;
    this.#length += piece.length;
    this.#pieces.push(piece);
    if (this.#length > this.#maxBytes) {
      this.#onInvalid(`longer than ${this.#maxBytes} bytes`, "");
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
      this.#onInvalid(error instanceof Error ? error.message : String(error), line ?? bytes.toString("latin1"));
      return;
    }
    this.#onValue(value);
  }
}

/**
 * Encodes one line of JSON. U+2028 and U+2029 are legal in JSON, but some readers end a line there.
 * @param {object} frame
 */
export function encodeLine(frame) {
  return `${JSON.stringify(frame).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`;
}
