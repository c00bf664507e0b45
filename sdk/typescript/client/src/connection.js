/** One process and the commands waiting for its responses. */
import { ZotError } from "./errors.js";
import { ZotProcess } from "./process.js";

/**
 * @import { Event, ResponseData } from "./protocol.js"
 * @import { Frame } from "./process.js"
 */

/**
 * @typedef {object} Waiting
 * @property {string} command
 * @property {(data: any, isAbandoned: boolean) => void} onSuccess
 * @property {(data: any) => void} resolve
 * @property {(error: ZotError) => void} reject
 * @property {boolean} isAbandoned
 */

export class Connection {
  #process;
  #nextId = 1;
  /** @type {Map<string, Waiting>} */
  #waiting = new Map();
  #awaited = 0;
  #onFlow;
  /** Why it ended. @type {ZotError | undefined} */
  failure;

  /**
   * @param {{ program: string, args: readonly string[], env: NodeJS.ProcessEnv }} how
   * @param {{ onEvent: (event: Event) => void, onEnd: (error: ZotError) => ZotError, onFlow: () => void }} listener
   *   `onEnd` returns the error for pending commands; `onFlow` is called when reading may have to pause or resume
   */
  constructor({ program, args, env }, { onEvent, onEnd, onFlow }) {
    this.#onFlow = onFlow;
    this.#process = new ZotProcess(program, args, env, (frame) => {
      if (frame.type === "response") this.#onResponse(frame);
      else onEvent(/** @type {Event} */ (/** @type {unknown} */ (frame)));
    });
    this.ended = this.#process.ended.then((reason) => {
      const error = onEnd(reason);
      this.failure = error;
      const waiting = [...this.#waiting.values()];
      this.#waiting.clear();
      this.#awaited = 0;
      for (const one of waiting) one.reject(error);
      return error;
    });
  }

  get pid() {
    return this.#process.pid;
  }

  get stderr() {
    return this.#process.stderr;
  }

  /** Whether a command is waiting for its response. */
  get isAwaited() {
    return this.#awaited > 0;
  }

  /** @param {boolean} paused */
  setPaused(paused) {
    this.#process.setPaused(paused);
  }

  /** @param {number} patienceMs */
  end(patienceMs) {
    return this.#process.end(patienceMs);
  }

  kill() {
    this.#process.kill();
  }

  /**
   * @template {keyof ResponseData} Type
   * @param {Type} type
   * @param {object} fields
   * @param {object} [options]
   * @param {number | undefined} [options.timeoutMs] no limit if undefined
   * @param {AbortSignal | undefined} [options.signal]
   * @param {(data: ResponseData[Type], isAbandoned: boolean) => void} [options.onSuccess] called when the response is
   *   read, before the events after it, and even if the caller has stopped waiting
   * @returns {Promise<ResponseData[Type]>}
   */
  request(type, fields, { timeoutMs, signal, onSuccess = () => {} } = {}) {
    return new Promise((resolve, reject) => {
      if (this.failure !== undefined) return reject(this.failure);
      if (signal?.aborted) return reject(abortedBy(signal, type));
      const id = String(this.#nextId++);
      this.#process.write({ id, type, ...fields });
      /** @param {ZotError} error */
      const abandon = (error) => {
        waiting.isAbandoned = true;
        this.#settle(-1);
        finish();
        reject(error);
      };
      const onAbort = () => abandon(abortedBy(/** @type {AbortSignal} */ (signal), type));
      const onTimeout = () => abandon(new ZotError("timeout", `zot did not respond to ${type} within ${timeoutMs} ms`, { command: type }));
      const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
      signal?.addEventListener("abort", onAbort, { once: true });
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      /** @type {Waiting} */
      const waiting = {
        command: type,
        isAbandoned: false,
        onSuccess,
        resolve: (data) => (finish(), resolve(data)),
        reject: (error) => (finish(), reject(error)),
      };
      this.#waiting.set(id, waiting);
      this.#settle(1);
    });
  }

  /** @param {Frame} frame */
  #onResponse(frame) {
    const waiting = this.#waiting.get(String(frame.id));
    if (waiting === undefined) return;
    this.#waiting.delete(String(frame.id));
    if (!waiting.isAbandoned) this.#settle(-1);
    if (frame.success === true) {
      waiting.onSuccess(frame.data, waiting.isAbandoned);
      waiting.resolve(frame.data);
    } else {
      const code = typeof frame.code === "string" ? frame.code : "refused";
      waiting.reject(new ZotError(code, `zot rejected ${waiting.command}: ${frame.error}`, { command: waiting.command }));
    }
  }

  /** @param {1 | -1} change */
  #settle(change) {
    this.#awaited += change;
    this.#onFlow();
  }
}

/** @param {AbortSignal} signal @param {string} what */
export function abortedBy(signal, what) {
  return new ZotError("aborted", `${what} was aborted by its signal`, { cause: signal.reason });
}
