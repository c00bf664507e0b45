/** The events of a prompt, for `for await`. */
import { abortedBy } from "./connection.js";
import { ZotError } from "./errors.js";

/**
 * @import { CallOptions } from "./index.js"
 * @import { Event } from "./protocol.js"
 * @import { Run } from "./run.js"
 */

/** Symbol.asyncDispose is newer than Node 18. @type {typeof Symbol.asyncDispose} */
export const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** @implements {AsyncIterableIterator<Event>} */
export class Prompt {
  #run;
  #begin;
  #abort;
  #options;
  /** @type {Promise<void> | undefined} */
  #begun;
  /** Why it was stopped early. @type {ZotError | undefined} */
  #stopped;
  #isLeft = false;
  #cleanUp = () => {};

  /**
   * @param {Run} run
   * @param {CallOptions} options
   * @param {() => Promise<unknown>} begin sends it; resolves when it has started
   * @param {() => Promise<void>} abort ends it; resolves when no more events will follow
   */
  constructor(run, options, begin, abort) {
    this.#run = run;
    this.#options = options;
    this.#begin = begin;
    this.#abort = abort;
  }

  /** Whether this process aborted the prompt. */
  get isAborted() {
    return this.#run.isAborted;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<Event, undefined>>} */
  async next() {
    if (this.#isLeft) return { done: true, value: undefined };
    try {
      await (this.#begun ??= this.#start());
      const event = await this.#run.pull();
      if (this.#stopped !== undefined) throw this.#stopped;
      if (event !== undefined) return { done: false, value: event };
    } catch (error) {
      await this.#leave();
      throw this.#stopped ?? error;
    }
    await this.#leave();
    return { done: true, value: undefined };
  }

  /** Stops early: aborts the prompt. @returns {Promise<IteratorResult<Event, undefined>>} */
  async return() {
    await this.#leave();
    return { done: true, value: undefined };
  }

  async [ASYNC_DISPOSE]() {
    await this.#leave();
  }

  async #start() {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) throw abortedBy(signal, "the prompt");
    /** @type {(() => void) | undefined} */
    let stopWaiting;
    const stopped = new Promise((resolve) => {
      stopWaiting = () => resolve(undefined);
    });
    /** @param {ZotError} error */
    const stop = (error) => {
      this.#stopped ??= error;
      stopWaiting?.();
      this.#run.discard();
    };
    const onAbort = () => stop(abortedBy(/** @type {AbortSignal} */ (signal), "the prompt"));
    const onTimeout = () => stop(new ZotError("timeout", `the prompt did not finish within ${timeoutMs} ms`));
    const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#cleanUp = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const begun = this.#begin();
    // A queued prompt cannot be withdrawn: it is aborted when its turn comes.
    begun.catch(() => {});
    await Promise.race([begun, stopped]);
  }

  async #leave() {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#cleanUp();
    if (this.#begun === undefined && !this.#run.hasStarted) return;
    this.#run.discard();
    if (!this.#run.isOver) await this.#abort();
    else await this.#run.epilogue;
  }
}
