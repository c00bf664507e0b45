// The SDK against the real program: ZOT_BIN=target/release/zot node --test tests/real-zot.test.js
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { encodeLine, LineReader } from "../src/lines.js";

const WAIT_MS = 10_000;
const binary = process.env.ZOT_BIN;
const skip = binary === undefined || binary === "" ? "set ZOT_BIN to the zot program to run this" : false;

/** `zot rpc` with one extension. */
class Zot {
  /** @type {any[]} */
  frames = [];
  stderr = "";
  #nextId = 1;
  #arrived = () => {};

  /** @param {string} program @param {string} home @param {string} endFile */
  constructor(program, home, endFile) {
    const extension = fileURLToPath(new URL("fixtures/real", import.meta.url));
    const args = ["rpc", "--provider", "offline", "--no-ext", "--ext", extension, "--cwd", home];
    this.child = spawn(resolve(program), args, {
      env: { ...process.env, ZOT_HOME: home, ZOT_TEST_END_FILE: endFile, ZOTCORE_RPC_TOKEN: "" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const reader = new LineReader(
      (frame) => {
        this.frames.push(frame);
        this.#arrived();
      },
      (reason, line) => assert.fail(`zot wrote a line that is not a frame (${reason}): ${line}`),
    );
    this.child.stdout.on("data", (chunk) => reader.push(chunk));
    this.child.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
    });
    this.exited = new Promise((done) => this.child.on("close", (code) => done(code)));
  }

  /** @param {string} what @param {(frame: any) => boolean} matches @param {number} [from] */
  async waitFor(what, matches, from = 0) {
    const deadline = Date.now() + WAIT_MS;
    for (;;) {
      const found = this.frames.slice(from).find(matches);
      if (found !== undefined) return found;
      const left = deadline - Date.now();
      if (left <= 0) assert.fail(`no ${what} within ${WAIT_MS} ms; frames: ${JSON.stringify(this.frames.slice(from))}; stderr: ${this.stderr}`);
      await new Promise((done) => {
        const timer = setTimeout(() => done(undefined), left);
        this.#arrived = () => {
          clearTimeout(timer);
          done(undefined);
        };
      });
    }
  }

  /** @param {{ type: string, [field: string]: unknown }} command @returns {Promise<any>} */
  async ask(command) {
    const id = String(this.#nextId++);
    this.child.stdin.write(encodeLine({ id, ...command }));
    const response = await this.waitFor(`response to ${command.type}`, (frame) => frame.type === "response" && frame.id === id);
    assert.equal(response.success, true, JSON.stringify(response));
    return response.data;
  }

  /** A prompt and everything until the agent is done. @param {string} message */
  async prompt(message) {
    const from = this.frames.length;
    await this.ask({ type: "prompt", message });
    await this.waitFor("done", (frame) => frame.type === "done", from);
    return this.frames.slice(from);
  }
}

describe("with the real zot", { skip }, () => {
  /** @type {Zot} */
  let zot;
  let home = "";
  let endFile = "";
  before(async () => {
    home = await mkdtemp(join(tmpdir(), "zot-real-"));
    endFile = join(home, "ended");
    zot = new Zot(/** @type {string} */ (binary), home, endFile);
  });
  after(async () => {
    zot.child.stdin.end();
    const code = await zot.exited;
    const ended = existsSync(endFile);
    await rm(home, { recursive: true, force: true });
    assert.equal(code, 0, zot.stderr);
    assert.ok(ended, "the extension was shut down in good order");
  });

  it("offers its commands", async () => {
    const { commands } = await zot.ask({ type: "get_commands" });
    const own = commands.filter((/** @type {any} */ command) => command.extension === "real");
    assert.deepEqual(own.map((/** @type {any} */ command) => [command.name, command.description]).sort(), [
      ["ask", "asks the model"],
      ["greet", "says hi"],
      ["refuse", "is refused"],
    ]);
  });

  it("runs its commands", async () => {
    const greeting = await zot.ask({ type: "invoke_command", name: "greet", args: "you\u2028there" });
    assert.deepEqual([greeting.action, greeting.display], ["display", "hi you\u2028there"]);
    const question = await zot.ask({ type: "invoke_command", name: "ask", args: "" });
    assert.deepEqual([question.action, question.prompt], ["prompt", "hello"]);
  });

  it("observes a turn and notifies", async () => {
    await zot.prompt("hello");
    const note = await zot.waitFor("ext_notify", (frame) => frame.type === "ext_notify");
    assert.deepEqual([note.extension, note.level, note.message], ["real", "info", "turn ended: end"]);
  });

  it("blocks one tool call, and no other", async () => {
    const result = (/** @type {any[]} */ frames) => frames.find((frame) => frame.type === "tool_result");
    const refused = result(await zot.prompt("run `echo forbidden`"));
    assert.equal(refused?.is_error, true);
    assert.match(JSON.stringify(refused.content), /refused by real/);
    const allowed = result(await zot.prompt("run `echo welcome`"));
    assert.equal(allowed?.is_error, false);
    assert.match(JSON.stringify(allowed.content), /welcome/);
  });
});
