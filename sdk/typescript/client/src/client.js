/** The public class: a method for each command of docs/rpc.md. */
import { ZotError } from "./errors.js";
import { image } from "./ext/content.js";
import { ASYNC_DISPOSE, Prompt } from "./prompt.js";
import { checkClientOptions, rejectUnknown, sandboxOf } from "./options.js";
import { Run } from "./run.js";
import { Session } from "./session.js";

/**
 * @import { Answer, AnswerOptions, CallOptions, ClientOptions, CompactResult, ConfirmOptions, InvokedCommand, Image, PromptOptions, SandboxOptions, Usage } from "./index.js"
 * @import { CumulativeUsage, Event, FullMessage, InvokedData, SandboxLevel } from "./protocol.js"
 */

/** Events that the client itself needs, in addition to those subscribed to. */
const NEEDED_EVENTS = ["turn_start", "turn_end", "usage", "assistant_message", "tool_confirm", "tool_result", "error", "compact_done", "done"];

export class Client {
  /** @type {Session} */
  #session;
  #options;

  /** @param {Session} session @param {ClientOptions} options */
  constructor(session, options) {
    this.#session = session;
    this.#options = options;
  }

  /** @param {ClientOptions} [options] */
  static async start(options = {}) {
    checkClientOptions(options);
    const session = new Session(options);
    await session.open();
    return new Client(session, options);
  }

  close() {
    return this.#session.close();
  }

  [ASYNC_DISPOSE]() {
    return this.#session.close();
  }

  get pid() {
    return this.#session.pid;
  }

  get stderr() {
    return this.#session.stderr;
  }

  /* Prompts */

  /** @param {string} message @param {PromptOptions} [options] */
  prompt(message, options = {}) {
    const { images = [], whenBusy = "reject", maxSteps, maxCostUsd, maxTokens, timeoutMs = this.#options.promptTimeoutMs, signal, ...unknown } = options;
    rejectUnknown("prompt", unknown);
    const fields = {
      message,
      when_busy: whenBusy,
      images: images.length === 0 ? undefined : images.map(toImage),
      max_steps: maxSteps,
      max_cost_usd: maxCostUsd,
      max_tokens: maxTokens,
    };
    const run = this.#newRun("prompt");
    return this.#iterate(run, { timeoutMs, signal }, () => this.#session.begin(run, "prompt", fields));
  }

  /** @param {string} message @param {PromptOptions} [options] @returns {Promise<Answer>} */
  async ask(message, options = {}) {
    const prompt = this.prompt(message, options);
    const { usage, text, stop } = await outcome(prompt);
    return { text, usage, stop: prompt.isAborted ? "aborted" : stop };
  }

  /** @param {string} message @param {CallOptions & { images?: readonly Image[] }} [options] */
  async steer(message, { images = [], ...options } = {}) {
    await this.#session.call("steer", { message, images: images.length === 0 ? undefined : images.map(toImage) }, options);
  }

  /** @param {string} callId @param {ConfirmOptions} answer @param {CallOptions} [options] */
  async confirm(callId, answer, options) {
    await this.#session.call("confirm", { call_id: callId, ...answer }, options);
  }

  /** @param {string} questionId @param {AnswerOptions} answer @param {CallOptions} [options] */
  async answer(questionId, answer, options) {
    await this.#session.call("answer", { question_id: questionId, ...answer }, options);
  }

  abort() {
    return this.#session.abort();
  }

  /** @param {CallOptions} [options] @returns {Promise<CompactResult>} */
  async compact(options = {}) {
    const { timeoutMs, signal, ...unknown } = options;
    rejectUnknown("compact", unknown);
    if (this.#session.current !== undefined) throw new ZotError("busy", "zot is busy: wait for the end of the prompt", { command: "compact" });
    const run = this.#newRun("compact");
    const { usage, summary } = await outcome(this.#iterate(run, { timeoutMs, signal }, () => this.#session.begin(run, "compact", {})));
    if (summary === undefined) throw new ZotError("aborted", "the compaction was aborted", { command: "compact" });
    return { summary, usage };
  }

  /* Extensions */

  /** @param {CallOptions} [options] */
  async getCommands(options) {
    return (await this.#session.call("get_commands", {}, options)).commands;
  }

  /** @param {string} name @param {string} [args] @param {CallOptions} [options] @returns {Promise<InvokedCommand>} */
  async invokeCommand(name, args = "", { timeoutMs, signal, ...unknown } = {}) {
    rejectUnknown("invokeCommand", unknown);
    const run = this.#newRun("prompt");
    const connection = await this.#session.ready();
    const data = await connection.request("invoke_command", { name, args }, {
      timeoutMs,
      signal,
      onSuccess: (/** @type {InvokedData} */ { action }, isAbandoned) => {
        if (action !== "prompt") return;
        run.isAborted = isAbandoned;
        this.#session.adopt(run);
      },
    });
    if (data.action !== "prompt") return data;
    return { ...data, events: this.#iterate(run, {}, () => Promise.resolve()) };
  }

  /** @param {{ extension: string, panelId: string, key: string, text?: string }} key @param {CallOptions} [options] */
  async panelKey({ extension, panelId, key, text }, options) {
    await this.#session.call("panel_key", { extension, panel_id: panelId, key, text }, options);
  }

  /** @param {{ extension: string, panelId: string, width: number, height: number }} size @param {CallOptions} [options] */
  async panelResize({ extension, panelId, width, height }, options) {
    await this.#session.call("panel_resize", { extension, panel_id: panelId, width, height }, options);
  }

  /** @param {{ extension: string, panelId: string }} panel @param {CallOptions} [options] */
  async panelClose({ extension, panelId }, options) {
    await this.#session.call("panel_close", { extension, panel_id: panelId }, options);
  }

  /** @param {CallOptions} [options] */
  async reloadExt(options) {
    return (await this.#session.call("reload_ext", {}, options)).extensions;
  }

  /* Queries */

  /** @param {CallOptions} [options] */
  hello(options) {
    return this.#session.call("hello", {}, options);
  }

  /** @param {CallOptions} [options] */
  getState(options) {
    return this.#session.call("get_state", {}, options);
  }

  /** @param {CallOptions & { full?: boolean }} [options] @returns {Promise<any>} */
  async getMessages({ full = false, ...options } = {}) {
    return (await this.#session.call("get_messages", { full }, options)).messages;
  }

  /** @param {CallOptions} [options] */
  getUsage(options) {
    return this.#session.call("get_usage", {}, options);
  }

  /** @param {CallOptions} [options] */
  async getModels(options) {
    return (await this.#session.call("get_models", {}, options)).models;
  }

  /** @param {CallOptions} [options] */
  async getTools(options) {
    return (await this.#session.call("get_tools", {}, options)).tools;
  }

  /** @param {CallOptions} [options] */
  getMcp(options) {
    return this.#session.call("get_mcp", {}, options);
  }

  /** @param {CallOptions} [options] */
  async ping(options) {
    await this.#session.call("ping", {}, options);
  }

  /* Settings */

  /** @param {readonly FullMessage[]} messages @param {{ append?: boolean }} [options] */
  setMessages(messages, { append = false, ...unknown } = {}) {
    rejectUnknown("setMessages", unknown);
    return this.#session.setMessages(messages, append);
  }

  /** @param {CallOptions} [options] */
  async clear(options) {
    await this.#session.call("clear", {}, options);
  }

  /** @param {string} model @param {CallOptions} [options] */
  async setModel(model, options) {
    return (await this.#session.call("set_model", { model }, { ...options, isSetting: true })).model;
  }

  /** @param {string} [effort] @param {CallOptions} [options] */
  async setReasoning(effort, options) {
    return (await this.#session.call("set_reasoning", { effort }, { ...options, isSetting: true })).effort;
  }

  /** @param {readonly string[]} [tools] @param {CallOptions} [options] */
  async setTools(tools, options) {
    return (await this.#session.call("set_tools", { tools }, { ...options, isSetting: true })).tools;
  }

  /** @param {SandboxLevel | SandboxOptions} sandbox @param {CallOptions} [options] */
  async setSandbox(sandbox, options) {
    const { unixSockets: unix_sockets, memoryMib: memory_mib, processorSeconds: processor_seconds, openFiles: open_files, ...same } = sandboxOf("setSandbox", sandbox);
    return this.#session.call("set_sandbox", { ...same, unix_sockets, memory_mib, processor_seconds, open_files }, { ...options, isSetting: true });
  }

  /** @param {string} [prompt] @param {CallOptions} [options] */
  async setSystemPrompt(prompt, options) {
    await this.#session.call("set_system_prompt", { prompt }, { ...options, isSetting: true });
  }

  /** @param {{ events?: readonly string[], details?: boolean }} [what] @param {CallOptions} [options] */
  async subscribe({ events, details = false } = {}, options) {
    // A list without it declines all questions.
    const questions = this.#options.questions ? ["tool_question"] : [];
    const types = events === undefined ? undefined : [...new Set([...events, ...NEEDED_EVENTS, ...questions])];
    return (await this.#session.call("subscribe", { events: types, details }, { ...options, isSetting: true })).events;
  }

  /** @param {"prompt" | "compact"} kind */
  #newRun(kind) {
    return new Run(kind, () => this.#session.updateFlow());
  }

  /** @param {Run} run @param {CallOptions} options @param {() => Promise<unknown>} begin */
  #iterate(run, options, begin) {
    return new Prompt(run, options, begin, () => this.#session.stop(run));
  }
}

/** Sums up the events of a prompt or compaction. @param {AsyncIterable<Event>} events */
async function outcome(events) {
  /** @type {Usage} */
  let usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };
  let text = "";
  let stop = "end";
  /** @type {string | undefined} */
  let summary;
  /** @type {ZotError | undefined} */
  let failure;
  for await (const event of events) {
    switch (event.type) {
      case "usage":
        usage = sum(usage, event);
        break;
      case "assistant_message":
        text = event.content.map((block) => (block.type === "text" ? block.text : "")).join("");
        break;
      case "turn_end":
        stop = event.stop;
        if (stop === "error") failure = new ZotError("failed", event.error ?? "the turn failed");
        break;
      case "compact_done":
        summary = event.summary;
        break;
      case "error":
        failure = new ZotError(event.code ?? "failed", event.message, { retryAfterMs: event.retry_after_ms });
        break;
    }
  }
  if (failure !== undefined) throw failure;
  return { usage, text, stop, summary };
}

/** @param {Usage} one @param {CumulativeUsage} other @returns {Usage} */
function sum(one, other) {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cache_read: one.cache_read + other.cache_read,
    cache_write: one.cache_write + other.cache_write,
    cost_usd: one.cost_usd + other.cost_usd,
  };
}

/** @param {Image} given */
function toImage(given) {
  const { mime_type, data } = "image" in given ? image(given.image, given.mimeType) : given;
  return { mime_type, data };
}
