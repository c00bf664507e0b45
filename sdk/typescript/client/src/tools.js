/** Tools that are functions of this process, offered to zot as an extension that only relays frames. */
import { rmSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { messageOf, ZotError } from "./errors.js";
import { toToolContent } from "./ext/content.js";
import { encodeLine, LineReader, MAX_FRAME_BYTES } from "./ext/lines.js";
import { findProblem } from "./ext/schema-check.js";

/**
 * @import { Socket } from "node:net"
 * @import { ObjectSchema } from "./ext/schema.js"
 * @import { Tool } from "./index.js"
 */

/** The name under which zot knows the tools. */
export const EXTENSION = "client-tools";
/** The path of a Unix socket is limited to about a hundred bytes. */
const MAX_SOCKET_PATH_BYTES = 100;
/** How long zot waits for a result. */
const ZOT_WAITS_MS = 60_000;
/** zot has one connection, two while it reloads. */
const MAX_CONNECTIONS = 8;

/** Directories to remove when the process ends without `close`. @type {Set<string>} */
const directories = new Set();
const removeDirectories = () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
};

/**
 * @param {any} definition
 * @returns {Tool}
 */
export function tool(definition) {
  const { name, description, run, schema = { type: "object" } } = definition;
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw new TypeError(`invalid tool name "${name}": expected 1 to 64 letters, digits, _ and -`);
  if (typeof description !== "string" || typeof run !== "function") throw new TypeError(`the tool "${name}" needs a description and a function \`run\``);
  if (schema.type !== "object") throw new TypeError(`the schema of the tool "${name}" must have the type "object"`);
  return Object.freeze({ name, description, schema, run });
}

export class ToolHost {
  #tools;
  #server = createServer((socket) => this.#serve(socket));
  /** @type {Set<Socket>} */
  #sockets = new Set();
  /** @type {Set<AbortController>} */
  #running = new Set();
  /** @type {() => void} */
  #onConnected = () => {};
  /** @type {Promise<void> | undefined} */
  #closing;

  /** @param {readonly Tool[]} tools @param {string} directory */
  constructor(tools, directory) {
    this.#tools = new Map(tools.map((one) => [one.name, one]));
    if (this.#tools.size < tools.length) throw new TypeError("two tools have the same name");
    this.directory = directory;
  }

  /** @param {readonly Tool[]} tools */
  static async open(tools) {
    const parent = Buffer.byteLength(tmpdir()) < MAX_SOCKET_PATH_BYTES - 30 ? tmpdir() : "/tmp";
    // Mode 0700: other users cannot reach the socket in it.
    const directory = await mkdtemp(join(parent, "zot-client-"));
    directories.add(directory);
    if (!process.listeners("exit").includes(removeDirectories)) process.on("exit", removeDirectories);
    try {
      const host = new ToolHost(tools, directory);
      await host.#listen(join(directory, "tools.sock"));
      return host;
    } catch (error) {
      await remove(directory);
      throw error;
    }
  }

  get names() {
    return [...this.#tools.keys()];
  }

  /** Resolves after the next handshake: a new zot has loaded the tools. */
  connected() {
    return /** @type {Promise<void>} */ (new Promise((resolve) => {
      this.#onConnected = resolve;
    }));
  }

  /** Aborts the signals of all running calls. @param {unknown} reason */
  abort(reason) {
    for (const controller of this.#running) controller.abort(reason);
  }

  close() {
    return (this.#closing ??= this.#close());
  }

  async #close() {
    this.abort(new ZotError("closed", "the client was closed"));
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await remove(this.directory);
  }

  /** @param {string} path */
  async #listen(path) {
    await new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen(path, () => resolve(undefined));
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    await chmod(path, 0o600);
    const manifest = { name: EXTENSION, version: "1.0.0", exec: process.execPath, args: [fileURLToPath(new URL("relay.js", import.meta.url)), path] };
    await writeFile(join(this.directory, "extension.json"), JSON.stringify(manifest), { mode: 0o600 });
  }

  /** @param {Socket} socket */
  #serve(socket) {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {});
    /** @param {object} frame */
    const send = (frame) => void (socket.writable && socket.write(encodeLine(frame)));
    // zot is trusted to send frames; anything else is ignored.
    const reader = new LineReader((frame) => this.#receive(/** @type {any} */ (frame), send), () => {});
    socket.on("data", (chunk) => reader.push(chunk));
    send({ type: "hello", name: EXTENSION, version: "1.0.0", capabilities: ["tools"] });
    for (const { name, description, schema } of this.#tools.values()) send({ type: "register_tool", name, description, schema });
    send({ type: "ready" });
  }

  /**
   * @param {{ type?: string, id: string, name: string, args: unknown }} frame
   * @param {(frame: object) => void} send
   */
  #receive(frame, send) {
    switch (frame.type) {
      case "hello_ack":
        return this.#onConnected();
      case "tool_call":
        return void this.#call(frame, send);
      case "shutdown":
        return send({ type: "shutdown_ack" });
    }
  }

  /**
   * @param {{ id: string, name: string, args: unknown }} call
   * @param {(frame: object) => void} send
   */
  async #call({ id, name, args = {} }, send) {
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.add(controller);
    const timer = setTimeout(() => controller.abort(new ZotError("timeout", `the tool ${name} exceeded the time limit of zot`)), ZOT_WAITS_MS);
    // A call that ignores its signal is left running.
    const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    /** @type {object} */
    let result;
    try {
      result = { type: "tool_result", id, .../** @type {object} */ (await Promise.race([this.#run(id, name, args, signal), aborted])) };
      if (Buffer.byteLength(encodeLine(result)) > MAX_FRAME_BYTES) throw new Error(`the result exceeds the limit of ${MAX_FRAME_BYTES} bytes`);
    } catch (error) {
      result = { type: "tool_result", id, content: [{ type: "text", text: messageOf(error) }], is_error: true };
    } finally {
      clearTimeout(timer);
      this.#running.delete(controller);
    }
    send(result);
  }

  /** @param {string} id @param {string} name @param {unknown} args @param {AbortSignal} signal */
  async #run(id, name, args, signal) {
    const found = this.#tools.get(name);
    if (found === undefined) throw new Error(`unknown tool "${name}"`);
    const problem = findProblem(/** @type {ObjectSchema} */ (found.schema), args);
    if (problem !== undefined) throw new Error(`invalid arguments: ${problem}`);
    return toToolContent(await found.run(/** @type {never} */ (args), { id, name, signal }));
  }
}

/** @param {string} directory */
async function remove(directory) {
  await rm(directory, { recursive: true, force: true });
  directories.delete(directory);
}
