/** The events of one prompt or compaction, between the reader and the consumer. */

/**
 * @import { ZotError } from "./errors.js"
 * @import { Event } from "./protocol.js"
 */

export class Run {
  /** @type {Event[]} */
  #events = [];
  /** @type {(() => void)[]} */
  #sleepers = [];
  #onPull;
  #discards = false;
  #over = false;
  /** @type {ZotError | undefined} */
  #failure;
  /** Whether zot has started it. */
  hasStarted = false;
  /** Whether an abort was sent for it. */
  isAborted = false;
  /** Work to finish between the last event and the end. @type {Promise<unknown>} */
  epilogue = Promise.resolve();

  /**
   * @param {"prompt" | "compact"} kind
   * @param {() => void} onPull
   */
  constructor(kind, onPull) {
    this.kind = kind;
    this.#onPull = onPull;
  }

  get waiting() {
    return this.#events.length;
  }

  get isOver() {
    return this.#over;
  }

  /** @param {Event} event */
  push(event) {
    if (!this.#discards) this.#events.push(event);
    if (event.type === "done" || (event.type === "compact_done" && this.kind === "compact")) this.#over = true;
    this.#wake();
  }

  /** @param {ZotError} error */
  fail(error) {
    if (this.#over) return;
    this.#failure = error;
    this.#over = true;
    this.#wake();
  }

  /** Drops all further events. */
  discard() {
    this.#discards = true;
    this.#events = [];
    this.#onPull();
    this.#wake();
  }

  /** Returns the next event; undefined at the end, and if the rest is discarded. */
  async pull() {
    while (this.#events.length === 0 && !this.#over && !this.#discards) {
      await new Promise((resolve) => this.#sleepers.push(() => resolve(undefined)));
    }
    const event = this.#events.shift();
    if (event !== undefined) {
      this.#onPull();
      return event;
    }
    if (this.#failure !== undefined && !this.#discards) throw this.#failure;
    return undefined;
  }

  /** Resolves after the last event, or if none will follow. */
  async ended() {
    while (!this.#over) await new Promise((resolve) => this.#sleepers.push(() => resolve(undefined)));
    await this.epilogue;
  }

  #wake() {
    for (const wake of this.#sleepers.splice(0)) wake();
  }
}
