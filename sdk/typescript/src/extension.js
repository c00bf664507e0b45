import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { Connection } from "./connection.js";
import { toToolContent } from "./content.js";
import { InOrder } from "./queue.js";
import { toCommandResponse, toInterceptAnswer } from "./responses.js";
import { findProblem } from "./schema-check.js";
import { log } from "./stdio.js";

/**
 * @import { CommandHandler, InterceptOptions, MessageInterceptOptions, ToolHandler, ToolOptions } from "./index.js"
 * @import * as Frames from "./frames.js"
 * @import { Infer, ObjectSchema } from "./schema.js"
 */

/** @typedef {{ schema: ObjectSchema, description: string, handler: ToolHandler<any> }} Tool */
/** @typedef {{ description: string, handler: CommandHandler }} Command */
/** @typedef {{ handler: (event: any) => unknown, options: InterceptOptions }} InterceptEntry */
/** @typedef {{ [kind in "panel_key" | "panel_resize" | "panel_close"]?: (frame: any) => unknown }} PanelHandlers */

/** zot kills an extension two seconds after `shutdown`; the frames need some of that time. */
const CLEANUP_LIMIT_MS = 1000;

const SIGTERM_EXIT_CODE = 143;

/** @type {Frames.EventName[]} */
const EVENTS = ["session_start", "turn_start", "turn_end", "tool_call", "assistant_message"];
/** @type {Frames.InterceptName[]} */
const INTERCEPTS = ["tool_call", "turn_start", "assistant_message"];

export class Extension {
  #name;
  #version;
  #connection = new Connection();
  /** @type {Frames.HelloAckFrame | undefined} */
  #host;
  /** @type {Map<string, Command>} */
  #commands = new Map();
  /** @type {Map<string, Tool>} */
  #tools = new Map();
  /** @type {Map<Frames.EventName, ((event: any) => unknown)[]>} */
  #listeners = new Map();
  /** @type {Map<Frames.InterceptName, InterceptEntry>} */
  #interceptors = new Map();
  #holdText = false;
  /** @type {Map<string, PanelHandlers>} */
  #panels = new Map();
  /** @type {((host: Frames.HelloAckFrame) => unknown)[]} */
  #startCallbacks = [];
  /** @type {(() => unknown)[]} */
  #shutdownCallbacks = [];
  /** @type {Set<AbortController>} */
  #running = new Set();
  #events = new InOrder("events");
  #panelFrames = new InOrder("panel frames");
  /** @type {"new" | "starting" | "ready" | "closing"} */
  #phase = "new";
  /** Handlers run only when the start callbacks are through. @type {Promise<void>} */
  #started = Promise.resolve();
  /** @type {(host: Frames.HelloAckFrame) => void} */
  #greeted = () => {};

  /** @param {string} name @param {string} [version] */
  constructor(name, version = "0.0.0") {
    if (typeof name !== "string" || name === "") throw new TypeError("an extension needs a name");
    this.#name = name;
    this.#version = version;
  }

  get name() {
    return this.#name;
  }

  get version() {
    return this.#version;
  }

  get host() {
    return this.#host;
  }

  get dataDir() {
    if (this.#host === undefined) throw new Error("dataDir is unknown until zot has responded: use it in a handler or in onStart");
    return this.#host.data_dir;
  }

  /** @param {string} name @param {string} description @param {CommandHandler} handler */
  command(name, description, handler) {
    if (!/^[^\s/]+$/.test(name)) throw new Error(`invalid command name "${name}": it must not contain blanks or slashes`);
    if (this.#commands.has(name)) throw new Error(`the command "${name}" is already registered`);
    this.#commands.set(name, { description, handler });
    if (this.#phase !== "new") this.#registerCommand(name, description);
    return this;
  }

  /**
   * @template {ObjectSchema} [const S={ readonly type: "object" }]
   * @param {string} name
   * @param {ToolOptions<S>} options
   * @param {ToolHandler<Infer<S>>} handler
   */
  tool(name, options, handler) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw new Error(`invalid tool name "${name}": expected 1 to 64 letters, digits, _ and -`);
    if (this.#tools.has(name)) throw new Error(`the tool "${name}" is already registered`);
    /** @type {ObjectSchema} */
    const schema = options.parameters ?? { type: "object", properties: {} };
    if (schema.type !== "object") throw new Error(`the parameters of the tool "${name}" must be a schema with type "object"`);
    const tool = { schema, description: options.description, handler };
    this.#tools.set(name, tool);
    if (this.#phase !== "new") this.#registerTool(name, tool);
    return this;
  }

  /** @param {Frames.EventName} event @param {(event: any) => unknown} handler */
  on(event, handler) {
    if (!EVENTS.includes(event)) throw new Error(`unknown event "${event}": expected one of ${EVENTS.join(", ")}`);
    const listeners = this.#listeners.get(event);
    if (listeners !== undefined) {
      listeners.push(handler);
    } else {
      this.#mustNotBeReady(`on("${event}")`);
      this.#listeners.set(event, [handler]);
    }
    return this;
  }

  /** @param {Frames.InterceptName} event @param {(event: any) => unknown} handler @param {MessageInterceptOptions} [options] */
  intercept(event, handler, options = {}) {
    if (!INTERCEPTS.includes(event)) throw new Error(`cannot intercept "${event}": expected one of ${INTERCEPTS.join(", ")}`);
    if (this.#interceptors.has(event)) throw new Error(`"${event}" already has an interceptor`);
    this.#mustNotBeReady(`intercept("${event}")`);
    this.#interceptors.set(event, { handler, options });
    if (event === "assistant_message" && options.holdText === true) this.#holdText = true;
    return this;
  }

  /** @param {Frames.NotifyLevel} level @param {string} message */
  notify(level, message) {
    if (this.#phase === "new") throw new Error("notify works after run()");
    this.#send({ type: "notify", level, message: String(message) });
  }

  /** @param {Frames.Panel} panel */
  renderPanel({ id, ...content }) {
    this.#send({ type: "panel_render", panel_id: id, ...content });
  }

  /** @param {string} id */
  closePanel(id) {
    this.#send({ type: "panel_close", panel_id: id });
  }

  /** @param {string} id @param {(key: string, event: Frames.PanelKeyFrame) => unknown} handler */
  onPanelKey(id, handler) {
    return this.#onPanel(id, "panel_key", (/** @type {Frames.PanelKeyFrame} */ frame) => handler(frame.key, frame));
  }

  /** @param {string} id @param {(event: Frames.PanelResizeFrame) => unknown} handler */
  onPanelResize(id, handler) {
    return this.#onPanel(id, "panel_resize", handler);
  }

  /** @param {string} id @param {(event: Frames.PanelCloseFrame) => unknown} handler */
  onPanelClose(id, handler) {
    return this.#onPanel(id, "panel_close", handler);
  }

  /** @param {(host: Frames.HelloAckFrame) => unknown} callback */
  onStart(callback) {
    if (this.#phase !== "new") throw new Error("onStart must be called before run()");
    this.#startCallbacks.push(callback);
    return this;
  }

  /** @param {() => unknown} callback */
  onShutdown(callback) {
    this.#shutdownCallbacks.push(callback);
    return this;
  }

  /** @returns {Promise<never>} */
  run() {
    if (this.#phase !== "new") throw new Error("run() must be called once");
    this.#phase = "starting";
    process.on("uncaughtException", (error) => log("uncaught error", error));
    process.on("unhandledRejection", (reason) => log("unhandled rejection", reason));
    process.on("SIGTERM", () => void this.#close(SIGTERM_EXIT_CODE));
    /** @type {Promise<Frames.HelloAckFrame>} */
    const greeting = new Promise((resolve) => {
      this.#greeted = resolve;
    });
    // Only onStart callbacks wait for zot's response; the rest is registered without a round trip.
    this.#started = this.#startCallbacks.length === 0 ? Promise.resolve() : greeting.then((host) => this.#runStartCallbacks(host));
    this.#connection.listen(
      (frame) => this.#receive(frame),
      () => void this.#close(0),
    );
    this.#send({ type: "hello", name: this.#name, version: this.#version, capabilities: ["commands", "tools", "events"] });
    for (const [name, { description }] of this.#commands) this.#registerCommand(name, description);
    for (const [name, tool] of this.#tools) this.#registerTool(name, tool);
    if (this.#startCallbacks.length === 0) this.#becomeReady();
    else this.#started = this.#started.then(() => this.#becomeReady());
    return new Promise(() => {});
  }

  /** @param {Frames.HelloAckFrame} host */
  async #runStartCallbacks(host) {
    for (const callback of this.#startCallbacks) {
      try {
        await callback(host);
      } catch (error) {
        log("an onStart callback failed", error);
      }
    }
  }

  #becomeReady() {
    if (this.#phase !== "starting") return;
    this.#phase = "ready";
    const events = [...this.#listeners.keys()];
    const intercept = [...this.#interceptors.keys()];
    if (events.length > 0 || intercept.length > 0) {
      this.#send({ type: "subscribe", events, intercept, ...(this.#holdText ? { hold_text: true } : {}) });
    }
    this.#send({ type: "ready" });
  }

  /** @param {string} name @param {string} description */
  #registerCommand(name, description) {
    this.#send({ type: "register_command", name, description });
  }

  /** @param {string} name @param {Tool} tool */
  #registerTool(name, { description, schema }) {
    this.#send({ type: "register_tool", name, description, schema });
  }

  /** @param {string} what */
  #mustNotBeReady(what) {
    if (this.#phase !== "new" && this.#phase !== "starting") throw new Error(`${what} must be called before run(): an extension subscribes once`);
  }

  /** @param {string} id @param {keyof PanelHandlers} kind @param {(frame: any) => unknown} handler */
  #onPanel(id, kind, handler) {
    const handlers = this.#panels.get(id) ?? {};
    handlers[kind] = handler;
    this.#panels.set(id, handlers);
    return this;
  }

  /** @param {Frames.ExtensionFrame} frame */
  #send(frame) {
    if (this.#phase === "new") throw new Error(`a ${frame.type} frame cannot be sent before run()`);
    this.#connection.send(frame);
  }

  /** @param {{ type: string, [field: string]: unknown }} received */
  #receive(received) {
    const frame = /** @type {Frames.HostFrame} */ (received);
    switch (frame.type) {
      case "hello_ack":
        this.#host = frame;
        this.#greeted(frame);
        return;
      case "command_invoked":
        if (this.#isRequest(frame)) void this.#started.then(() => this.#runCommand(frame));
        return;
      case "tool_call":
        if (this.#isRequest(frame)) void this.#started.then(() => this.#runTool(frame));
        return;
      case "event_intercept":
        if (this.#isRequest(frame)) void this.#started.then(() => this.#runInterceptor(frame));
        return;
      case "event":
        this.#events.add(() => this.#runListeners(frame));
        return;
      case "panel_key":
      case "panel_resize":
      case "panel_close":
        this.#panelFrames.add(() => this.#runPanelHandler(frame));
        return;
      case "shutdown":
        void this.#close(0);
        return;
      default:
        // A newer zot may send frames that this version does not know.
        return;
    }
  }

  /** @param {{ type: string, id: unknown }} frame */
  #isRequest(frame) {
    if (typeof frame.id === "string") return true;
    log(`skipped a ${frame.type} frame without an id`);
    return false;
  }

  /** @param {Frames.CommandInvokedFrame} frame */
  async #runCommand({ id, name, args }) {
    const command = this.#commands.get(name);
    const abort = this.#track();
    try {
      if (command === undefined) throw new Error(`unknown command "${name}" of the extension ${this.#name}`);
      const response = toCommandResponse(await command.handler(args ?? "", { name, signal: abort.signal }));
      this.#send({ type: "command_response", id, ...response });
    } catch (error) {
      if (abort.signal.aborted) return;
      log(`the command /${name} failed`, error);
      this.#send({ type: "command_response", id, action: "noop", error: describe(error) });
    } finally {
      this.#running.delete(abort);
    }
  }

  /** @param {Frames.ToolCallFrame} frame */
  async #runTool({ id, name, args }) {
    const tool = this.#tools.get(name);
    const abort = this.#track();
    try {
      if (tool === undefined) throw new Error(`unknown tool "${name}" of the extension ${this.#name}`);
      const given = args ?? {};
      const problem = findProblem(tool.schema, given);
      if (problem !== undefined) {
        this.#sendFailure(id, `invalid arguments for ${name}: ${problem}`);
        return;
      }
      const result = await tool.handler(given, { id, name, signal: abort.signal });
      this.#send({ type: "tool_result", id, ...toToolContent(result) });
    } catch (error) {
      if (abort.signal.aborted) return;
      log(`the tool ${name} failed`, error);
      this.#sendFailure(id, describe(error));
    } finally {
      this.#running.delete(abort);
    }
  }

  /** @param {string} id @param {string} message */
  #sendFailure(id, message) {
    this.#send({ type: "tool_result", id, content: [{ type: "text", text: message }], is_error: true });
  }

  /** @param {Frames.EventInterceptFrame} frame */
  async #runInterceptor(frame) {
    const interceptor = this.#interceptors.get(frame.event);
    const type = "event_intercept_response";
    try {
      this.#send({ type, id: frame.id, ...toInterceptAnswer(await interceptor?.handler(frame)) });
    } catch (error) {
      log(`the interceptor of ${frame.event} failed`, error);
      const onError = interceptor?.options.onError ?? (await this.#manifestOnFailure());
      this.#send(onError === "block" ? { type, id: frame.id, block: true, reason: `${this.#name}: ${describe(error)}` } : { type, id: frame.id });
    }
  }

  /** What a failed interceptor does, according to the manifest. */
  async #manifestOnFailure() {
    try {
      const manifest = JSON.parse(await readFile(join(this.#host?.extension_dir ?? ".", "extension.json"), "utf8"));
      return manifest.on_failure;
    } catch {
      return undefined;
    }
  }

  /** @param {Frames.EventFrame} frame */
  async #runListeners(frame) {
    await this.#started;
    for (const listener of this.#listeners.get(frame.event) ?? []) {
      try {
        await listener(frame);
      } catch (error) {
        log(`a handler of ${frame.event} failed`, error);
      }
    }
  }

  /** @param {Frames.PanelKeyFrame | Frames.PanelResizeFrame | Frames.PanelCloseFrame} frame */
  async #runPanelHandler(frame) {
    await this.#started;
    try {
      await this.#panels.get(frame.panel_id)?.[frame.type]?.(frame);
    } catch (error) {
      log(`the ${frame.type} handler of the panel ${frame.panel_id} failed`, error);
    }
  }

  #track() {
    const abort = new AbortController();
    this.#running.add(abort);
    return abort;
  }

  /** Ends the process, whatever handlers still do. @param {number} code */
  async #close(code) {
    if (this.#phase === "closing") return;
    this.#phase = "closing";
    for (const abort of this.#running) abort.abort(new Error("zot is shutting down"));
    const cleanup = this.#shutdownCallbacks.map(async (callback) => {
      try {
        await callback();
      } catch (error) {
        log("an onShutdown callback failed", error);
      }
    });
    const limit = new Promise((resolve) => setTimeout(() => resolve("late"), CLEANUP_LIMIT_MS));
    if ((await Promise.race([Promise.all(cleanup), limit])) === "late") log(`onShutdown took more than ${CLEANUP_LIMIT_MS} ms`);
    await this.#connection.close({ type: "shutdown_ack" });
    process.exit(code);
  }
}

/** @param {unknown} error */
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  return error.message === "" ? error.name : error.message;
}
