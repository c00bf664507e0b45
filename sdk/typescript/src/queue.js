import { log } from "./stdio.js";

/** Tasks that may wait for a slow handler; zot itself does not wait for events. */
const MAX_WAITING = 10_000;

/** Runs tasks one after another, in the order in which they were added. */
export class InOrder {
  #waiting = 0;
  #dropped = 0;
  /** @type {Promise<void>} */
  #last = Promise.resolve();
  #what;

  /** @param {string} what for the log */
  constructor(what) {
    this.#what = what;
  }

  /** @param {() => Promise<void>} task must not reject */
  add(task) {
    if (this.#waiting >= MAX_WAITING) {
      this.#dropped += 1;
      if (this.#dropped === 1) log(`a handler is stuck: ${MAX_WAITING} ${this.#what} are waiting, further ones are dropped`);
      return;
    }
    this.#waiting += 1;
    this.#last = this.#last.then(task).finally(() => {
      this.#waiting -= 1;
    });
  }
}
