import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

import { startHost } from "@zot/ext/testing";

const fixture = (/** @type {string} */ name) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

it("keeps printed text out of the frames", async () => {
  const host = await startHost(fixture("noisy.js"));
  assert.equal((await host.callTool("print")).text, "quiet");
  const { stderr, code } = await host.shutdown();
  assert.deepEqual(host.strayOutput, []);
  for (const words of ["log at the top", "console.log", "console.info", "process.stdout.write", "no newline", "early reference", "imported stdout"]) {
    assert.ok(stderr.includes(words), `the log has "${words}"`);
  }
  assert.equal(code, 0);
});

it("survives uncaught errors, and logs them", async () => {
  const host = await startHost(fixture("noisy.js"));
  await host.callTool("background");
  await host.waitForLog(/unhandled rejection: Error: nobody awaits this/);
  await host.waitForLog(/uncaught error: Error: nobody catches this/);
  assert.equal((await host.callTool("print")).text, "quiet");
  assert.equal((await host.shutdown()).code, 0);
});

/** What an extension logs when it ends although its cleanup has not. */
const LIMIT_REACHED = /onShutdown took more than/;

/**
 * Ends an extension whose handler hangs. Like zot, the host ends it by a signal if it takes too long.
 * @param {(host: import("@zot/ext/testing").Host) => Promise<import("@zot/ext/testing").ExitReport>} end
 * @param {Record<string, string>} [env]
 */
async function endWhileHanging(end, env = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "zot-ext-test-"));
  const host = await startHost(fixture("ending.js"), { dataDir, env });
  const call = assert.rejects(host.callTool("hang"), /the extension ended/);
  await host.waitFor("notify");
  const report = await end(host);
  await call;
  const cleaned = existsSync(join(dataDir, "cleaned"));
  await rm(dataDir, { recursive: true });
  return { ...report, cleaned };
}

it("ends at shutdown despite a hanging handler", async () => {
  const end = await endWhileHanging((host) => host.shutdown());
  assert.deepEqual([end.code, end.signal, end.acknowledged, end.cleaned], [0, null, true, true]);
  assert.match(end.stderr, /aborted: zot is shutting down/);
  assert.doesNotMatch(end.stderr, LIMIT_REACHED);
});

it("ends when its input ends", async () => {
  const end = await endWhileHanging((host) => host.closeInput());
  assert.deepEqual([end.code, end.cleaned], [0, true]);
  assert.doesNotMatch(end.stderr, LIMIT_REACHED);
});

it("ends at SIGTERM", async () => {
  const end = await endWhileHanging((host) => host.kill("SIGTERM"));
  assert.deepEqual([end.code, end.signal, end.cleaned], [143, null, true]);
});

it("does not wait for a cleanup that hangs longer than zot would", async () => {
  const end = await endWhileHanging((host) => host.shutdown(), { MODE: "stuck-cleanup" });
  assert.deepEqual([end.code, end.signal, end.acknowledged, end.cleaned], [0, null, true, true]);
  assert.match(end.stderr, LIMIT_REACHED);
});

it("ends cleanly despite a failing cleanup", async () => {
  const end = await endWhileHanging((host) => host.shutdown(), { MODE: "broken-cleanup" });
  assert.deepEqual([end.code, end.acknowledged, end.cleaned], [0, true, true]);
  assert.match(end.stderr, /cleanup exploded/);
});

it("writes a large result whole before it ends", async () => {
  const host = await startHost(fixture("ending.js"));
  const call = host.callTool("big");
  const [answer, end] = await Promise.all([call, host.shutdown()]);
  assert.equal(answer.text.length, 4 * 1024 * 1024);
  assert.deepEqual([end.code, end.acknowledged], [0, true]);
});

it("ends when its output is no longer read", async () => {
  const child = spawn(process.execPath, [fixture("ending.js")], { stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.on("error", () => {});
  const exited = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.stdout.destroy();
  // Its input stays open: only the failing write reveals it.
  child.stdin.write('{"type":"tool_call","id":"1","name":"big","args":{}}\n');
  assert.equal(await exited, 0);
});

it("runs start callbacks before handlers, and subscribes after them", async () => {
  const host = await startHost(fixture("starting.js"), { host: { model: "opus" } });
  assert.deepEqual(host.commands.map((command) => command.name), ["for-opus"]);
  assert.deepEqual(host.subscription?.events, ["turn_end"]);
  assert.equal((await host.callTool("state")).text, "loaded for opus");
  assert.match((await host.shutdown()).stderr, /start exploded/);
});

it("follows the manifest when an interceptor fails", async () => {
  const host = await startHost(fixture("guard"));
  const answer = await host.intercept("tool_call", { tool_id: "1", tool_name: "bash", tool_args: {} });
  assert.deepEqual([answer.block, answer.reason], [true, "guard: guard is broken"]);
  await host.shutdown();
});
