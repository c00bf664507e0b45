/** One conversation over one or more processes: starts them, restores what they lost, distributes events. */
import { Connection } from "./connection.js";
import { messageOf, ZotError } from "./errors.js";
import { commandLine } from "./flags.js";
import { keepsSession, rejectUnknown } from "./options.js";
import { EXTENSION, ToolHost } from "./tools.js";
import { pieces } from "./transcript.js";

/**
 * @import { ApprovalAnswer, ClientOptions } from "./index.js"
 * @import { Event, FullMessage, RepairReport, ResponseData, ToolConfirmEvent } from "./protocol.js"
 * @import { Run } from "./run.js"
 */

const PROTOCOL_VERSION = 1;
/** Events that may wait for a slow consumer before reading pauses. */
const HIGH_WATER_EVENTS = 256;
const START_TIMEOUT_MS = 30_000;
const CALL_TIMEOUT_MS = 30_000;
/** zot gives a running command three seconds; a prompt that takes longer than this is stuck. */
const ABORT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 10_000;
/** In a row, without a completed prompt. */
const MAX_RESTARTS = 5;
/** Within a prompt, snapshots take at most a tenth of the time. */
const SNAPSHOT_PAUSE_FACTOR = 10;

/** The settings, by the command that sets them. @typedef {Map<keyof ResponseData, object>} Settings */

export class Session {
  #options;
  /** @type {ToolHost | undefined} */
  #tools;
  /** The process that is ready for commands. @type {Connection | undefined} */
  #connection;
  /** The process that was started last, ready or not. @type {Connection | undefined} */
  #newest;
  /** @type {Promise<Connection> | undefined} */
  #starting;
  /** @type {Promise<void> | undefined} */
  #closing;
  /** @type {Run | undefined} */
  #current;
  /** Approval requests without a decision yet. @type {Map<string, AbortController>} */
  #approvals = new Map();
  /** @type {Settings} */
  #settings = new Map();
  /** @type {FullMessage[]} */
  #messages = [];
  #canRestore = false;
  #snapshotRuns = false;
  #nextSnapshotAt = 0;
  #restarts = 0;
  /** Why the last process ended. @type {ZotError | undefined} */
  #crash;
  #onAbort = () => void this.close();

  /** @param {ClientOptions} options */
  constructor(options) {
    this.#options = options;
  }

  async open() {
    const { signal, tools = [] } = this.#options;
    if (signal?.aborted) throw this.#closedError();
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    try {
      if (tools.length > 0) this.#tools = await ToolHost.open(tools);
      await this.ready();
    } catch (error) {
      const aborted = this.#closing !== undefined;
      await this.close();
      // It may have been closed before the tools were ready.
      await this.#tools?.close();
      throw aborted ? this.#closedError() : error;
    }
  }

  get current() {
    return this.#current;
  }

  get pid() {
    return this.#newest?.pid;
  }

  get stderr() {
    return this.#newest?.stderr ?? "";
  }

  get callTimeoutMs() {
    return this.#options.callTimeoutMs ?? CALL_TIMEOUT_MS;
  }

  /** Returns a process that accepts commands; a new one if the last has crashed. @returns {Promise<Connection>} */
  async ready() {
    if (this.#closing !== undefined) throw this.#closedError();
    if (this.#connection !== undefined) return this.#connection;
    if (this.#starting === undefined) {
      if (this.#crash !== undefined) this.#countRestart(this.#crash);
      this.#starting = this.#start().finally(() => {
        this.#starting = undefined;
      });
    }
    return this.#starting;
  }

  /**
   * @template {keyof ResponseData} Type
   * @param {Type} type
   * @param {object} [fields]
   * @param {{ timeoutMs?: number | undefined, signal?: AbortSignal | undefined, isSetting?: boolean }} [options]
   */
  async call(type, fields = {}, { timeoutMs = this.callTimeoutMs, signal, isSetting = false, ...unknown } = {}) {
    rejectUnknown(type, unknown);
    const connection = await this.ready();
    return connection.request(type, fields, {
      timeoutMs,
      signal,
      onSuccess: () => {
        if (isSetting) this.#settings.set(type, fields);
        if (type === "clear") this.#messages = [];
      },
    });
  }

  /** Sends the command that starts a run; resolves when it has started. @param {Run} run @param {"prompt" | "compact"} type @param {object} fields */
  async begin(run, type, fields) {
    try {
      const connection = await this.ready();
      await connection.request(type, fields, { onSuccess: () => this.adopt(run) });
    } catch (error) {
      run.fail(/** @type {ZotError} */ (error));
      throw error;
    }
  }

  /** Makes this run the receiver of all following events. @param {Run} run */
  adopt(run) {
    run.hasStarted = true;
    this.#current = run;
    // Aborted while it was queued.
    if (run.isAborted || this.#closing !== undefined) void this.stop(run);
  }

  /** Aborts a run and waits for its end. @param {Run} run */
  async stop(run) {
    if (!run.hasStarted && !run.isOver) {
      run.isAborted = true;
      return;
    }
    if (!run.isOver) {
      const connection = this.#connection;
      this.abort().catch(() => {});
      const timer = setTimeout(() => connection?.kill(), this.#options.abortTimeoutMs ?? ABORT_TIMEOUT_MS);
      await run.ended();
      clearTimeout(timer);
    }
    await run.epilogue;
  }

  async abort() {
    if (this.#current !== undefined) this.#current.isAborted = true;
    const reason = new ZotError("aborted", "the prompt was aborted");
    this.#tools?.abort(reason);
    this.#endApprovals(reason);
    await this.#connection?.request("abort", {}, { timeoutMs: this.callTimeoutMs });
  }

  /** @param {readonly FullMessage[]} messages @param {boolean} append */
  async setMessages(messages, append) {
    const connection = await this.ready();
    const report = await this.#putMessages(connection, messages, append);
    await this.#snapshot(connection);
    return report;
  }

  close() {
    return (this.#closing ??= this.#close());
  }

  async #close() {
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    const connection = this.#newest;
    if (connection !== undefined && connection.failure === undefined) {
      connection.setPaused(false);
      if (this.#current !== undefined) {
        this.abort().catch(() => {});
        this.#current.fail(this.#closedError());
        this.#current = undefined;
      }
      await connection.end(this.#options.closeTimeoutMs ?? CLOSE_TIMEOUT_MS);
      await connection.ended;
    }
    await this.#tools?.close();
  }

  /** @param {ZotError} crash */
  #countRestart(crash) {
    if (this.#options.restart === false) throw crash;
    if (this.#restarts >= MAX_RESTARTS) {
      throw new ZotError("crashed", `zot crashed ${this.#restarts} times in a row, most recently: ${crash.message}`, { cause: crash, stderr: crash.stderr });
    }
    this.#restarts += 1;
  }

  /** @returns {Promise<Connection>} */
  async #start() {
    const crash = this.#crash;
    const foundTools = this.#tools?.connected();
    const how = commandLine(this.#options, this.#tools?.directory);
    /** @type {Connection} */
    const connection = new Connection(how, {
      onEvent: (event) => this.#onEvent(connection, event),
      onEnd: (error) => this.#onEnd(connection, error),
      onFlow: () => this.updateFlow(connection),
    });
    this.#newest = connection;
    const deadline = Date.now() + (this.#options.startTimeoutMs ?? START_TIMEOUT_MS);
    const left = () => ({ timeoutMs: Math.max(1, deadline - Date.now()) });
    try {
      await this.#greet(connection, how.env.ZOTCORE_RPC_TOKEN, left());
      if (foundTools !== undefined) await this.#awaitTools(connection, foundTools, left);
      // The chosen tools may belong to extensions, which this command waits for.
      if (this.#settings.has("set_tools")) await connection.request("get_commands", {}, left());
      for (const [type, fields] of this.#settings) await connection.request(type, fields, left());
      await this.#restore(connection, crash, left());
    } catch (error) {
      connection.kill();
      await connection.ended;
      if (crash === undefined && error instanceof ZotError && error.code === "crashed") {
        throw new ZotError("not_started", error.message, { stderr: error.stderr });
      }
      throw error;
    }
    if (this.#closing !== undefined) throw this.#closedError();
    this.#connection = connection;
    return connection;
  }

  /** @param {Connection} connection @param {ZotError | undefined} crash @param {{ timeoutMs: number }} patience */
  async #restore(connection, crash, patience) {
    let messageCount = this.#messages.length;
    /** @type {RepairReport} */
    let repaired = { results_added: 0, results_dropped: 0, messages_dropped: 0 };
    if (keepsSession(this.#options)) {
      const state = await connection.request("get_state", {}, patience);
      messageCount = state.message_count;
      // The next process continues in the same file, also if this one made it or forked it.
      if (state.session !== undefined) this.#options = { ...this.#options, session: state.session.path, resume: undefined, fork: undefined };
    } else if (crash !== undefined && this.#canRestore) {
      repaired = (await this.#putMessages(connection, this.#messages, false)).repaired;
    }
    if (crash !== undefined) notify(this.#options.onRestart, { error: crash, messageCount, repaired });
  }

  /** @param {Connection} connection @param {string | undefined} token @param {{ timeoutMs: number }} patience */
  async #greet(connection, token, patience) {
    const { approve, questions } = this.#options;
    const capabilities = [...(approve === undefined ? [] : ["confirm"]), ...(questions ? ["questions"] : [])];
    const hello = await connection.request("hello", { ...(token && { token }), ...(capabilities.length > 0 && { capabilities }) }, patience);
    if (hello.protocol_version !== PROTOCOL_VERSION) {
      throw new ZotError("protocol", `zot uses version ${hello.protocol_version} of the protocol, this client version ${PROTOCOL_VERSION}`);
    }
    const offered = hello.capabilities ?? [];
    // A session file already holds the conversation.
    this.#canRestore = this.#options.restart !== false && !keepsSession(this.#options) && offered.includes("full_messages") && offered.includes("set_messages");
  }

  /** @param {Connection} connection @param {Promise<void>} found @param {() => { timeoutMs: number }} left */
  async #awaitTools(connection, found, left) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      const { timeoutMs } = left();
      timer = setTimeout(() => reject(new ZotError("timeout", `zot did not start the tools within ${timeoutMs} ms`, { stderr: connection.stderr })), timeoutMs);
    });
    const gone = connection.ended.then((error) => Promise.reject(error));
    gone.catch(() => {});
    try {
      await Promise.race([found, late, gone]);
    } finally {
      clearTimeout(timer);
    }
    // This waits until zot has read the registrations of the extension.
    await connection.request("get_commands", {}, left());
    const { tools } = await connection.request("get_tools", {}, left());
    // A name that was already taken belongs to another extension.
    const known = new Set(tools.filter((entry) => entry.extension === EXTENSION).map((entry) => entry.name));
    const missing = this.#tools?.names.filter((name) => !known.has(name)) ?? [];
    if (missing.length > 0) throw new ZotError("tool_refused", `zot rejected the tools ${missing.join(", ")}: ${connection.stderr}`);
  }

  /** @param {Connection} connection @param {readonly FullMessage[]} messages @param {boolean} append */
  async #putMessages(connection, messages, append) {
    const patience = { timeoutMs: this.callTimeoutMs };
    let messageCount = 0;
    /** @type {RepairReport} */
    const repaired = { results_added: 0, results_dropped: 0, messages_dropped: 0 };
    for (const [index, piece] of pieces(messages).entries()) {
      const report = await connection.request("set_messages", { messages: piece, append: append || index > 0 }, patience);
      messageCount = report.message_count;
      repaired.results_added += report.repaired.results_added;
      repaired.results_dropped += report.repaired.results_dropped;
      repaired.messages_dropped += report.repaired.messages_dropped;
    }
    return { message_count: messageCount, repaired };
  }

  /** @param {Connection} connection @param {Event} event */
  #onEvent(connection, event) {
    notify(this.#options.onEvent, event);
    const run = this.#current;
    switch (event.type) {
      case "tool_confirm":
        if (this.#options.approve !== undefined) void this.#decide(connection, event);
        break;
      case "tool_result":
        this.#approvals.get(event.id)?.abort(new ZotError("aborted", "the call ended without a decision"));
        break;
      case "turn_start":
        // The conversation now includes the previous turn and its tool results.
        if (event.step > 1 && !this.#snapshotRuns && Date.now() >= this.#nextSnapshotAt) void this.#snapshot(connection);
        break;
    }
    if (run === undefined) return;
    run.push(event);
    if (run.isOver) {
      this.#current = undefined;
      this.#restarts = 0;
      const reason = new ZotError("aborted", "the prompt is over");
      this.#tools?.abort(reason);
      this.#endApprovals(reason);
      run.epilogue = this.#snapshot(connection);
    }
    this.updateFlow(connection);
  }

  /** @param {Connection} connection @param {ZotError} error @returns {ZotError} */
  #onEnd(connection, error) {
    const shown = this.#closing === undefined ? error : this.#closedError();
    if (this.#connection === connection) {
      this.#connection = undefined;
      this.#crash = error;
    }
    const run = this.#current;
    this.#current = undefined;
    this.#tools?.abort(shown);
    this.#endApprovals(shown);
    run?.fail(shown);
    return shown;
  }

  /** Pauses reading while a consumer is slow, unless a response is awaited. */
  updateFlow(connection = this.#connection) {
    if (connection === undefined) return;
    const isSlow = this.#current !== undefined && this.#current.waiting >= HIGH_WATER_EVENTS;
    connection.setPaused(isSlow && !connection.isAwaited && this.#closing === undefined);
  }

  /** Saves the conversation, in case of a crash. @param {Connection} connection */
  async #snapshot(connection) {
    if (!this.#canRestore) return;
    this.#snapshotRuns = true;
    const begun = Date.now();
    try {
      const { messages } = await connection.request("get_messages", { full: true }, { timeoutMs: this.callTimeoutMs });
      this.#messages = /** @type {FullMessage[]} */ (messages);
    } catch {
      // The last snapshot remains.
    }
    this.#snapshotRuns = false;
    this.#nextSnapshotAt = Date.now() + SNAPSHOT_PAUSE_FACTOR * (Date.now() - begun);
  }

  /** @param {Connection} connection @param {ToolConfirmEvent} event */
  async #decide(connection, { id, name, args, preview }) {
    const controller = new AbortController();
    this.#approvals.set(id, controller);
    /** @type {ApprovalAnswer} */
    let answer;
    try {
      answer = (await this.#options.approve?.({ id, name, args, preview, signal: controller.signal })) ?? false;
    } catch (error) {
      answer = { allow: false, reason: messageOf(error) };
    }
    this.#approvals.delete(id);
    if (controller.signal.aborted) return;
    const fields = typeof answer === "object" ? { ...answer, allow: answer.allow === true } : { allow: answer === true };
    // A late decision is ignored: zot has already continued.
    await connection.request("confirm", { ...fields, call_id: id }, { timeoutMs: this.callTimeoutMs }).catch(() => {});
  }

  /** @param {ZotError} reason */
  #endApprovals(reason) {
    for (const controller of this.#approvals.values()) controller.abort(reason);
  }

  #closedError() {
    return new ZotError("closed", "the client was closed", { cause: this.#options.signal?.reason });
  }
}

/**
 * Calls a callback and rethrows its exception a moment later, so that it does not disturb the order of frames.
 * @template Value
 * @param {((value: Value) => void) | undefined} callback
 * @param {Value} value
 */
function notify(callback, value) {
  try {
    callback?.(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
