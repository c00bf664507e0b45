/** Shared by the tests: the real program, a scripted model, a program that misbehaves. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { Client, ZotError } from "@zot/client";

/** @import { ClientOptions, Event } from "@zot/client" */

export const zot = process.env.ZOT_BIN ? resolve(process.env.ZOT_BIN) : "";
const scriptedModel = process.env.SCRIPTED_MODEL ?? join(dirname(zot), "scripted-model");
export const skip = zot === "" ? "set ZOT_BIN to the zot program to run this" : false;
export const skipScripted = skip || (existsSync(scriptedModel) ? false : `${scriptedModel} is missing: cargo build -p testkit`);

const fake = fileURLToPath(new URL("fixtures/fake-zot.js", import.meta.url));

/** @type {(() => Promise<unknown>)[]} */
const cleanups = [];

/** For `afterEach`: ends what the test has started. */
export async function cleanUp() {
  for (const remove of cleanups.splice(0).reverse()) await remove();
}

/** A directory that goes away with the test. */
export async function temporaryDirectory() {
  const directory = await mkdtemp(join(tmpdir(), "zot-client-test-"));
  cleanups.push(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** @param {ClientOptions} options */
async function start(options) {
  const directory = await temporaryDirectory();
  const env = { ZOT_HOME: join(directory, "home"), ZOTCORE_RPC_TOKEN: undefined, ...options.env };
  const client = await Client.start({ cwd: directory, ...options, env });
  cleanups.push(() => client.close());
  return client;
}

/** The real zot with its offline model. @param {ClientOptions} [options] */
export function startOffline(options = {}) {
  return start({ program: zot, provider: "offline", ...options });
}

/** The real zot with a model that does what the prompt says. @param {ClientOptions} [options] */
export async function startScripted(options = {}) {
  const baseUrl = `http://127.0.0.1:${await (modelPort ??= startModel())}/v1`;
  return start({ program: zot, provider: "openai", model: "gpt-5", baseUrl, apiKey: "x", ...options });
}

/** A program that behaves as `mode` says, see fixtures/fake-zot.js. @param {string} mode @param {ClientOptions} [options] */
export function startFake(mode, options = {}) {
  return start({ program: fake, ...options, env: { ...options.env, FAKE: mode } });
}

/** @type {Promise<number> | undefined} */
let modelPort;

/** @returns {Promise<number>} */
async function startModel() {
  const server = spawn(scriptedModel, ["--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  // It serves all tests of a file.
  process.on("exit", () => server.kill());
  server.unref();
  const lines = createInterface(server.stdout);
  const [line] = await once(lines, "line");
  lines.close();
  server.stdout.destroy();
  return Number(line.split(":").pop());
}

/** @param {AsyncIterable<Event>} events */
export async function collect(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

/** @param {Event[]} events */
export function textOf(events) {
  return events.map((event) => (event.type === "text_delta" ? event.delta : "")).join("");
}

/** For assert.rejects. @param {string} code @param {RegExp} [message] */
export function zotError(code, message = /./) {
  return (/** @type {unknown} */ error) => {
    if (error instanceof ZotError && error.code === code && message.test(error.message)) return true;
    throw error;
  };
}

/** @param {string} what @param {() => unknown} condition */
export async function until(what, condition) {
  const deadline = Date.now() + 15_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within 15 s: ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

/**
 * Lets the prompt time out after `hasBegun`: again with more time where a busy machine was not as far.
 * @param {Client} client @param {string} prompt @param {() => boolean} hasBegun
 */
export async function timeOutOnce(client, prompt, hasBegun) {
  for (let timeoutMs = 300; !hasBegun(); timeoutMs *= 4) {
    assert.ok(timeoutMs < 30_000, "it never began");
    await assert.rejects(client.ask(prompt, { timeoutMs }), zotError("timeout"));
  }
}

/** @param {number | undefined} pid */
export function isAlive(pid) {
  try {
    process.kill(/** @type {number} */ (pid), 0);
    return true;
  } catch {
    return false;
  }
}
