// The test host: its errors when something is wrong with an extension.
import assert from "node:assert/strict";
import { it } from "node:test";

import { startHost } from "@zot/ext/testing";

const fixture = (/** @type {string} */ name) => new URL(`fixtures/${name}`, import.meta.url);

it("reports why an extension did not start", async () => {
  await assert.rejects(startHost([process.execPath, "-e", "console.error('no config'); process.exit(3)"]), /no hello frame: the extension ended with exit code 3; standard error:\nno config/);
  await assert.rejects(startHost(["/no/such/program"]), /cannot start \/no\/such\/program/);
  await assert.rejects(startHost([process.execPath, "-e", "setInterval(() => {}, 1000)"], { timeoutMs: 100 }), /no hello frame: timed out after 100 ms/);
});

it("does not send what zot would not send", async () => {
  const host = await startHost(fixture("noisy.js"));
  assert.throws(() => host.emit("session_start"), /has not subscribed to session_start/);
  assert.throws(() => host.intercept("turn_start", { step: 1 }), /has not subscribed to turn_start under "intercept"/);
  assert.throws(() => host.invoke("x"), /not registered the command "x" \(registered: none\)/);
  await assert.rejects(host.callTool("x"), /not registered the tool "x" \(registered: print, background/);
  await host.shutdown();
  await assert.rejects(host.callTool("print"), /the extension ended with exit code 0/);
});

it("keeps lines that are not frames", async () => {
  const script = `
    console.log('{"type":"hello","name":"raw","version":"1","capabilities":[]}');
    console.log("oops"); console.log("[1]");
    console.log('{"type":"ready"}');
    process.stdin.resume().on("end", () => process.exit(0));`;
  const host = await startHost([process.execPath, "-e", script]);
  assert.deepEqual(host.strayOutput, ["oops", "[1]"]);
  assert.equal((await host.shutdown()).acknowledged, false);
});

it("kills an extension that does not end", async () => {
  const script = `
    process.on("SIGTERM", () => {});
    console.log('{"type":"hello","name":"raw","version":"1","capabilities":[]}\\n{"type":"ready"}');
    setInterval(() => {}, 1000);`;
  const host = await startHost([process.execPath, "-e", script]);
  assert.equal((await host.shutdown()).signal, "SIGKILL");
});
