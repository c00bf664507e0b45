import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { startHost } from "@zot/ext/testing";

const fixture = (/** @type {string} */ name) => new URL(`fixtures/${name}`, import.meta.url);

describe("an extension that uses everything", () => {
  /** @type {import("@zot/ext/testing").Host} */
  let host;
  before(async () => {
    host = await startHost(fixture("everything.js"), { host: { model: "m1", zot_version: "9.9" } });
  });
  after(async () => {
    const exit = await host.shutdown();
    assert.deepEqual([exit.code, exit.acknowledged], [0, true]);
    assert.deepEqual(host.strayOutput, []);
  });

  it("sends hello, registrations, subscription and ready, in this order", () => {
    assert.deepEqual(host.hello, { type: "hello", name: "everything", version: "1.2.3", capabilities: ["commands", "tools", "events"] });
    const order = host.frames.map((frame) => frame.type).filter((type, index, all) => type !== all[index - 1]);
    assert.deepEqual(order.slice(0, 5), ["hello", "register_command", "register_tool", "subscribe", "ready"]);
    assert.deepEqual(host.subscription, {
      type: "subscribe",
      events: ["session_start", "turn_start", "turn_end", "tool_call", "assistant_message"],
      intercept: ["tool_call", "turn_start", "assistant_message"],
      hold_text: true,
    });
    assert.deepEqual(host.commands[0], { type: "register_command", name: "prompt", description: "asks the model" });
    assert.deepEqual(host.tools.find((tool) => tool.name === "none")?.schema, { type: "object", properties: {} });
  });

  const responses = /** @type {const} */ ([
    ["prompt", { action: "prompt", prompt: "say hi" }],
    ["insert", { action: "insert", insert: "draft" }],
    ["display", { action: "display", display: "note" }],
    ["string", { action: "display", display: "plain" }],
    ["noop", { action: "noop" }],
    ["nothing", { action: "noop" }],
    ["error", { action: "noop", error: "not today" }],
    ["throws", { action: "noop", error: "command exploded" }],
    ["rejects", { action: "noop", error: "later" }],
    ["panel", { action: "open_panel", open_panel: { id: "list", title: "List", lines: ["one"], footer: "q quits" } }],
    ["separators", { action: "display", display: "a\u2028b\u2029c" }],
  ]);
  for (const [name, expected] of responses) {
    it(`answers the command ${name}`, async () => {
      const { type, id, ...rest } = await host.invoke(name, "  hi ");
      assert.equal(type, "command_response");
      assert.match(id, /^test-/);
      assert.deepEqual(rest, expected);
    });
  }

  it("rejects an invalid command response", async () => {
    assert.match((await host.invoke("wrong")).error ?? "", /a command handler must return prompt\(\)/);
  });

  it("writes the stack of an exception to the log", async () => {
    await host.invoke("throws");
    await host.waitForLog(/Error: command exploded\n\s+at .*everything\.js/);
  });

  it("knows its host", async () => {
    const answer = await host.invoke("host");
    assert.equal(answer.action, "display");
    const seen = JSON.parse(answer.action === "display" ? answer.display : "");
    assert.equal(seen.model, "m1");
    assert.equal(seen.zot_version, "9.9");
    assert.equal(seen.dir, seen.data_dir);
  });

  it("responds to an unknown command", async () => {
    host.send({ type: "command_invoked", id: "u1", name: "unknown", args: "" });
    const answer = await host.waitFor("command_response");
    assert.equal(answer.error, 'unknown command "unknown" of the extension everything');
  });

  const results = /** @type {const} */ ([
    ["echo", { a: [1, "é"] }, [{ type: "text", text: '{"a":[1,"é"]}' }], false],
    ["none", {}, [], false],
    ["image", {}, [{ type: "image", mime_type: "image/png", data: "AQID" }], false],
    [
      "mixed",
      {},
      [
        { type: "text", text: "first" },
        { type: "text", text: "second" },
        { type: "image", mime_type: "image/gif", data: "AQID" },
      ],
      false,
    ],
    ["strings", {}, [{ type: "text", text: '["a","b"]' }], false],
    ["number", {}, [{ type: "text", text: "42" }], false],
    ["refuse", {}, [{ type: "text", text: "no such city" }], true],
    ["throws", {}, [{ type: "text", text: "tool exploded" }], true],
    ["separators", {}, [{ type: "text", text: "a\u2028b\u2029c" }], false],
    ["checked", { city: "Rom", days: 3 }, [{ type: "text", text: "Rom c 3" }], false],
  ]);
  for (const [name, args, content, isError] of results) {
    it(`answers the tool ${name}`, async () => {
      const answer = await host.callTool(name, args);
      assert.deepEqual([answer.content, answer.isError], [content, isError]);
    });
  }

  it("turns a result without a JSON form into an error", async () => {
    const answer = await host.callTool("cyclic");
    assert.equal(answer.isError, true);
    assert.match(answer.text, /circular/i);
  });

  it("turns a result that exceeds a frame into an error", async () => {
    const answer = await host.callTool("huge");
    assert.equal(answer.isError, true);
    assert.match(answer.text, /exceeds the limit of 16777216/);
  });

  it("checks arguments before the handler sees them", async () => {
    const answer = await host.callTool("checked", { city: 5 });
    assert.deepEqual([answer.isError, answer.text], [true, "invalid arguments for checked: city: expected string, got 5"]);
  });

  it("responds to an unknown tool", async () => {
    host.send({ type: "tool_call", id: "u2", name: "unknown", args: {} });
    const answer = await host.waitFor("tool_result");
    assert.deepEqual([answer.id, answer.is_error], ["u2", true]);
  });

  it("runs tools concurrently", async () => {
    const waiting = host.callTool("wait");
    assert.equal((await host.callTool("release")).text, "done");
    assert.equal((await waiting).text, "released");
  });

  it("registers a tool after ready", async () => {
    await host.invoke("late");
    assert.equal((await host.callTool("late_tool")).text, "late");
  });

  it("observes events in order, despite slow and failing handlers", async () => {
    const before = host.notifications.length;
    host.emit("session_start");
    host.emit("turn_start", { step: 1 });
    host.emit("turn_start", { step: 2 });
    host.emit("tool_call", { tool_id: "c1", tool_name: "explode", tool_args: {} });
    host.emit("tool_call", { tool_id: "c2", tool_name: "bash", tool_args: {} });
    host.emit("assistant_message", {});
    host.emit("assistant_message", { text: "hi" });
    host.emit("turn_end", { stop: "error", error: "no key" });
    while (host.notifications.length < before + 7) await host.waitFor("notify");
    assert.deepEqual(
      host.notifications.slice(before).map(({ level, message }) => `${level}: ${message}`),
      [
        "info: session_start",
        "success: turn_start 1",
        "success: turn_start 2",
        "error: tool_call bash",
        "info: assistant_message -",
        "info: assistant_message hi",
        "warn: turn_end error no key",
      ],
    );
    await host.waitForLog(/listener exploded/);
  });

  const call = (/** @type {string} */ tool_name) => ({ tool_id: "c", tool_name, tool_args: { a: 1 } });
  it("allows, blocks and rewrites a tool call", async () => {
    const fields = async (/** @type {string} */ name) => {
      const { type, id, ...rest } = await host.intercept("tool_call", call(name));
      assert.equal(type, "event_intercept_response");
      assert.match(id, /^test-/);
      return rest;
    };
    assert.deepEqual(await fields("bash"), {});
    assert.deepEqual(await fields("forbidden"), { block: true, reason: "not allowed" });
    assert.deepEqual(await fields("rewrite"), { modified_args: { a: 1, safe: true } });
    assert.deepEqual(await fields("explode"), {}, "without on_failure a broken interceptor allows");
  });

  it("blocks when its interceptor fails and onError says so", async () => {
    assert.equal((await host.intercept("turn_start", { step: 1 })).block, undefined);
    const answer = await host.intercept("turn_start", { step: 6 });
    assert.deepEqual([answer.block, answer.reason], [true, "everything: too many"]);
  });

  it("replaces a message", async () => {
    assert.equal((await host.intercept("assistant_message", { text: "a secret" })).replace_text, "[redacted]");
    assert.equal((await host.intercept("assistant_message", { text: "hello" })).replace_text, undefined);
  });

  it("draws and closes a panel", async () => {
    host.panelKey("list", "x");
    host.panelKey("list", "a", "ä");
    assert.deepEqual(await host.waitFor("panel_render"), { type: "panel_render", panel_id: "list", title: "List", lines: ["a ä"], footer: "q quits" });
    host.panelResize("list", 80, 24);
    assert.deepEqual((await host.waitFor("panel_render")).lines, ["80x24"]);
    host.panelKey("other", "a");
    host.panelKey("list", "esc");
    assert.deepEqual(await host.waitFor("panel_close"), { type: "panel_close", panel_id: "list" });
    const before = host.notifications.length;
    host.panelClose("list");
    while (host.notifications.length === before) await host.waitFor("notify");
    assert.equal(host.notifications.at(-1)?.message, "panel closed");
    await host.waitForLog(/key exploded/);
  });

  it("skips unknown and invalid frames", async () => {
    host.write('not json\n\n   \n[1]\nnull\n"text"\n{"no":"type"}\n{"type":5}\n{"type":"from_the_future","x":1}\n{"type":"tool_call","name":"echo"}\n');
    host.write(Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]));
    host.write('{"type":"hello_ack","zot_version":"9.9","model":"m1","data_dir":"/d","new_field":true}\r\n');
    assert.equal((await host.callTool("number")).text, "42");
    await host.waitForLog(/skipped an invalid frame .*not json/);
    await host.waitForLog(/skipped a tool_call frame without an id/);
  });

  it("skips a line of more than 16 MiB", async () => {
    host.write(`{"type":"tool_call","id":"big","name":"echo","args":{"x":"${"y".repeat(17 * 1024 * 1024)}"}}\n`);
    assert.equal((await host.callTool("number")).text, "42");
    await host.waitForLog(/longer than 16777216 bytes/);
  });

  it("reads frames split anywhere, even inside a character", async () => {
    const line = Buffer.from('{"type":"tool_call","id":"cut","name":"echo","args":{"x":"é€😀\u2028\u2029\u0085"}}\n');
    for (const byte of line) {
      host.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const answer = await host.waitFor("tool_result");
    assert.deepEqual(answer.content, [{ type: "text", text: '{"x":"é€😀\u2028\u2029\u0085"}' }]);
  });
});
