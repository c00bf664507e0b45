// Talks to the extension as zot does. Run with: node --test
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("main.js", import.meta.url));
let child, lines;
const registered = [];

const receive = async () => {
  const { value, done } = await lines.next();
  assert.ok(!done, "the extension has ended");
  return JSON.parse(value);
};
const send = (frame) => child.stdin.write(JSON.stringify(frame) + "\n");
const ask = (frame) => {
  send(frame);
  return receive();
};

before(async () => {
  child = spawn(process.execPath, [main], { stdio: ["pipe", "pipe", "inherit"] });
  lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  do registered.push(await receive());
  while (registered.at(-1).type !== "ready");
});

after(async () => {
  const ended = new Promise((resolve) => child.on("exit", resolve));
  assert.deepEqual(await ask({ type: "shutdown" }), { type: "shutdown_ack" });
  child.stdin.end();
  assert.equal(await ended, 0);
});

test("says hello first", () => {
  assert.equal(registered[0].type, "hello");
  assert.equal(registered[0].name, "{{name}}");
});

test("command", async () => {
  const answer = await ask({ type: "command_invoked", id: "1", name: "{{word}}", args: "Ada" });
  assert.deepEqual([answer.id, answer.display], ["1", "Hello, Ada!"]);
});

test("tool", async () => {
  const answer = await ask({ type: "tool_call", id: "2", name: "{{word}}_greet", args: { name: "Ada" } });
  assert.deepEqual(answer.content, [{ type: "text", text: "Hello, Ada!" }]);
});

test("tool with wrong arguments", async () => {
  const answer = await ask({ type: "tool_call", id: "3", name: "{{word}}_greet", args: {} });
  assert.equal(answer.is_error, true);
});

test("ignores what it does not know", async () => {
  send({ type: "of_a_later_version" });
  const answer = await ask({ type: "command_invoked", id: "4", name: "{{word}}", args: "" });
  assert.equal(answer.display, "Hello, world!");
});
