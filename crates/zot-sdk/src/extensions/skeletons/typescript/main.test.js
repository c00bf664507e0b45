// Run with: node --test
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { startHost } from "#zot-ext/testing";

/** @type {import("#zot-ext/testing").Host} */
let host;

before(async () => {
  host = await startHost(fileURLToPath(new URL(".", import.meta.url)));
});

after(async () => {
  const { code, acknowledged } = await host.shutdown();
  assert.deepEqual([code, acknowledged], [0, true]);
});

test("has its name", () => {
  assert.equal(host.hello.name, "{{name}}");
});

test("command", async () => {
  assert.equal((await host.invoke("{{word}}", "Ada")).display, "Hello, Ada!");
  assert.equal((await host.invoke("{{word}}")).display, "Hello, world!");
});

test("tool", async () => {
  assert.equal((await host.callTool("{{word}}_greet", { name: "Ada" })).text, "Hello, Ada!");
  assert.equal((await host.callTool("{{word}}_greet", {})).isError, true);
});
