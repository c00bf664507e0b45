/** `@zot/ext/testing`: takes the part of zot for one extension process. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { encodeLine, LineReader } from "./lines.js";

/**
 * @import { ChildProcessByStdio } from "node:child_process"
 * @import { Readable, Writable } from "node:stream"
 * @import * as Frames from "./frames.js"
 * @import { ExitReport, Host, HostOptions, ToolAnswer } from "./testing.js"
 */

/** @typedef {{ program: string, args: string[], directory: string }} Launch */
/** @typedef {{ matches?: (frame: any) => boolean, matchesLog?: (log: string) => boolean }} Condition */
/** @typedef {Condition & { resolve: (frame: any) => void, reject: (error: Error) => void }} Waiter */

const DEFAULT_TIMEOUT_MS = 5000;
const SHUTDOWN_GRACE_MS = 2000;
const SIGTERM_GRACE_MS = 1000;

/**
 * @param {string | URL | readonly [string, ...string[]]} extension
 * @param {HostOptions} [options]
 * @returns {Promise<Host>}
 */
export async function startHost(extension, options = {}) {
  const launch = await findLaunch(extension);
  const ownDataDir = options.dataDir === undefined ? await mkdtemp(join(tmpdir(), "zot-ext-")) : undefined;
  const directory = options.cwd ?? launch.directory;
  const host = new ProcessHost(launch, directory, ownDataDir, options);
  try {
    host.hello = await host.waitFor("hello");
    host.send({
      type: "hello_ack",
      protocol_version: 1,
      zot_version: "test",
      provider: "offline",
      model: "offline",
      cwd: process.cwd(),
      extension_dir: directory,
      data_dir: options.dataDir ?? /** @type {string} */ (ownDataDir),
      ...options.host,
    });
    await host.waitFor("ready");
  } catch (error) {
    await host.kill("SIGKILL");
    throw error;
  }
  return host;
}

/** @implements {Host} */
class ProcessHost {
  /** @type {Frames.HelloFrame} */
  hello = { type: "hello", name: "", version: "", capabilities: [] };
  /** @type {Frames.ExtensionFrame[]} */
  frames = [];
  /** @type {string[]} */
  strayOutput = [];
  stderr = "";
  pid;

  /** @type {ChildProcessByStdio<Writable, Readable, Readable>} */
  #child;
  /** @type {Promise<ExitReport>} */
  #exited;
  /** @type {Frames.ExtensionFrame[]} */
  #unclaimed = [];
  /** @type {Set<Waiter>} */
  #waiters = new Set();
  /** @type {string | undefined} */
  #ending;
  #nextId = 1;
  #timeoutMs;

  /** @param {Launch} launch @param {string} cwd @param {string | undefined} ownDataDir @param {HostOptions} options */
  constructor({ program, args }, cwd, ownDataDir, options) {
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#child = spawn(program, args, { cwd, env: { ...process.env, ...options.env }, stdio: ["pipe", "pipe", "pipe"] });
    this.pid = this.#child.pid ?? -1;
    const reader = new LineReader(
      (value) => this.#receive(value),
      (_reason, line) => this.strayOutput.push(line),
    );
    this.#child.stdout.on("data", (chunk) => reader.push(chunk));
    this.#child.stdout.on("end", () => reader.end());
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
      for (const waiter of [...this.#waiters]) if (waiter.matchesLog?.(this.stderr)) waiter.resolve(undefined);
    });
    // An extension may end before it has read everything; its exit is reported then.
    this.#child.stdin.on("error", () => {});
    const killAtExit = () => this.#child.kill("SIGKILL");
    process.on("exit", killAtExit);
    this.#exited = new Promise((resolve) => {
      this.#child.on("error", (error) => this.#end(`cannot start ${program}: ${error.message}`, { code: null, signal: null }, resolve));
      this.#child.on("close", (code, signal) => this.#end(`ended with ${signal ?? `exit code ${code}`}`, { code, signal }, resolve));
    }).then(async (report) => {
      process.off("exit", killAtExit);
      if (ownDataDir !== undefined) await rm(ownDataDir, { recursive: true, force: true });
      return report;
    });
    // Only a pending wait keeps Node alive, so that a test without a shutdown ends, too.
    this.#keepAlive("unref");
  }

  get commands() {
    return this.#received("register_command");
  }

  get tools() {
    return this.#received("register_tool");
  }

  get subscription() {
    return this.#received("subscribe").at(-1);
  }

  get notifications() {
    return this.#received("notify");
  }

  /** @param {string} name @param {string} [args] @returns {Promise<Frames.CommandResponseFrame>} */
  invoke(name, args = "") {
    this.#mustHave("command", name, this.commands);
    const id = this.#id();
    return this.#request({ type: "command_invoked", id, name, args: args.trim() }, "command_response", id);
  }

  /** @param {string} name @param {object} [args] @returns {Promise<ToolAnswer>} */
  async callTool(name, args = {}) {
    this.#mustHave("tool", name, this.tools);
    const id = this.#id();
    /** @type {Frames.ToolResultFrame} */
    const { content, is_error: isError } = await this.#request(
      { type: "tool_call", id, name, args: /** @type {Frames.JsonObject} */ (args) },
      "tool_result",
      id,
    );
    const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    return { content, isError: isError === true, text };
  }

  /** @param {Frames.InterceptName} event @param {object} [fields] @returns {Promise<Frames.EventInterceptResponseFrame>} */
  intercept(event, fields = {}) {
    this.#mustSubscribe("intercept", event);
    const id = this.#id();
    const frame = /** @type {Frames.EventInterceptFrame} */ ({ type: "event_intercept", id, event, ...fields });
    return this.#request(frame, "event_intercept_response", id);
  }

  /** @param {Frames.EventName} event @param {object} [fields] */
  emit(event, fields = {}) {
    this.#mustSubscribe("events", event);
    this.send(/** @type {Frames.EventFrame} */ ({ type: "event", event, ...fields }));
  }

  /** @param {string} panelId @param {string} key @param {string} [text] */
  panelKey(panelId, key, text) {
    this.send({ type: "panel_key", panel_id: panelId, key, ...(text === undefined ? {} : { text }) });
  }

  /** @param {string} panelId @param {number} width @param {number} height */
  panelResize(panelId, width, height) {
    this.send({ type: "panel_resize", panel_id: panelId, width, height });
  }

  /** @param {string} panelId */
  panelClose(panelId) {
    this.send({ type: "panel_close", panel_id: panelId });
  }

  /**
   * @template {Frames.ExtensionFrame["type"]} Type
   * @param {Type} type
   * @returns {Promise<Extract<Frames.ExtensionFrame, { type: Type }>>}
   */
  waitFor(type) {
    return this.#wait(`${type} frame`, (frame) => frame.type === type);
  }

  /** @param {RegExp} pattern @returns {Promise<void>} */
  async waitForLog(pattern) {
    if (!pattern.test(this.stderr)) await this.#await(`${pattern} in the log`, { matchesLog: (log) => pattern.test(log) });
  }

  /** @param {Frames.HostFrame} frame */
  send(frame) {
    this.write(encodeLine(frame));
  }

  /** @param {string | Uint8Array} bytes */
  write(bytes) {
    this.#child.stdin.write(bytes);
  }

  shutdown() {
    this.send({ type: "shutdown" });
    return this.closeInput();
  }

  async closeInput() {
    this.#keepAlive("ref");
    this.#child.stdin.end();
    const terminate = setTimeout(() => this.#child.kill("SIGTERM"), SHUTDOWN_GRACE_MS);
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), SHUTDOWN_GRACE_MS + SIGTERM_GRACE_MS);
    const report = await this.#exited;
    clearTimeout(terminate);
    clearTimeout(kill);
    return report;
  }

  /** @param {"SIGTERM" | "SIGINT" | "SIGKILL"} [signal] */
  async kill(signal = "SIGTERM") {
    this.#keepAlive("ref");
    this.#child.kill(signal);
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), SHUTDOWN_GRACE_MS);
    const report = await this.#exited;
    clearTimeout(kill);
    return report;
  }

  /**
   * @template {Frames.ExtensionFrame["type"]} Type
   * @param {Type} type
   * @returns {Extract<Frames.ExtensionFrame, { type: Type }>[]}
   */
  #received(type) {
    return /** @type {any} */ (this.frames.filter((frame) => frame.type === type));
  }

  /** Whether the child keeps this Node from ending. @param {"ref" | "unref"} how */
  #keepAlive(how) {
    this.#child[how]();
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      /** @type {{ ref?: () => void, unref?: () => void }} */ (stream)[how]?.();
    }
  }

  #id() {
    return `test-${this.#nextId++}`;
  }

  /** @param {unknown} value */
  #receive(value) {
    const frame = /** @type {Frames.ExtensionFrame} */ (value);
    if (typeof frame?.type !== "string") {
      this.strayOutput.push(JSON.stringify(value));
      return;
    }
    this.frames.push(frame);
    for (const waiter of this.#waiters) {
      if (!waiter.matches?.(frame)) continue;
      waiter.resolve(frame);
      return;
    }
    this.#unclaimed.push(frame);
  }

  /** @param {Frames.HostFrame} frame @param {Frames.ExtensionFrame["type"]} type @param {string} id @returns {Promise<any>} */
  #request(frame, type, id) {
    const answer = this.#wait(`${type} to the ${frame.type}`, (candidate) => candidate.type === type && candidate.id === id);
    this.send(frame);
    return answer;
  }

  /** @param {string} what @param {(frame: any) => boolean} matches @returns {Promise<any>} */
  #wait(what, matches) {
    const index = this.#unclaimed.findIndex(matches);
    if (index !== -1) return Promise.resolve(this.#unclaimed.splice(index, 1)[0]);
    return this.#await(what, { matches });
  }

  /** @param {string} what @param {Condition} condition @returns {Promise<any>} */
  #await(what, condition) {
    if (this.#ending !== undefined) return Promise.reject(new Error(`no ${what}: the extension ${this.#ending}${this.#stderrNote()}`));
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      /** @type {Waiter} */
      const waiter = {
        ...condition,
        resolve: (frame) => {
          settle();
          resolve(frame);
        },
        reject: (error) => {
          settle();
          reject(new Error(`no ${what}: ${error.message}`));
        },
      };
      const timer = setTimeout(() => waiter.reject(new Error(`timed out after ${this.#timeoutMs} ms${this.#stderrNote()}`)), this.#timeoutMs);
      this.#waiters.add(waiter);
    });
  }

  /**
   * @param {string} how
   * @param {{ code: number | null, signal: string | null }} exit
   * @param {(report: ExitReport) => void} resolve
   */
  #end(how, exit, resolve) {
    this.#ending = how;
    for (const waiter of [...this.#waiters]) waiter.reject(new Error(`the extension ${how}${this.#stderrNote()}`));
    const acknowledged = this.frames.some((frame) => frame.type === "shutdown_ack");
    resolve({ ...exit, acknowledged, stderr: this.stderr });
  }

  #stderrNote() {
    return this.stderr === "" ? "" : `; standard error:\n${this.stderr.slice(-2000)}`;
  }

  /** @param {string} what @param {string} name @param {{ name: string }[]} known */
  #mustHave(what, name, known) {
    if (known.some((one) => one.name === name)) return;
    throw new Error(`the extension has not registered the ${what} "${name}" (registered: ${known.map((one) => one.name).join(", ") || "none"})`);
  }

  /** @param {"events" | "intercept"} list @param {Frames.EventName} event */
  #mustSubscribe(list, event) {
    if (/** @type {string[]} */ (this.subscription?.[list] ?? []).includes(event)) return;
    throw new Error(`the extension has not subscribed to ${event} under "${list}", so zot would not send it`);
  }
}

/** @param {string | URL | readonly [string, ...string[]]} extension @returns {Promise<Launch>} */
async function findLaunch(extension) {
  if (Array.isArray(extension)) {
    const [program, ...args] = extension;
    return { program, args, directory: process.cwd() };
  }
  const path = resolve(extension instanceof URL ? fileURLToPath(extension) : /** @type {string} */ (extension));
  if (!(await stat(path)).isDirectory()) return { program: process.execPath, args: [path], directory: dirname(path) };
  const manifest = JSON.parse(await readFile(join(path, "extension.json"), "utf8"));
  if (typeof manifest.exec !== "string") throw new Error(`${join(path, "extension.json")}: "exec" must name the program`);
  const file = resolve(path, manifest.exec);
  const isProgramName = !manifest.exec.includes("/") && !existsSync(file);
  return { program: isProgramName ? manifest.exec : file, args: manifest.args ?? [], directory: path };
}
