// Tools that are functions of this process, called by the real zot.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { image, text, tool, toolError } from "@zot/client";

import { cleanUp, collect, skipScripted, startScripted, timeOutOnce, until, zot, zotError } from "./support.js";

/** @import { Event, Tool } from "@zot/client" */

/** The first result in the events. @param {Event[]} events */
function resultOf(events) {
  for (const event of events) if (event.type === "tool_result") return event;
  return assert.fail("no tool was called");
}

describe("tools", { skip: skipScripted }, () => {
  afterEach(cleanUp);
  // A separate directory, to see what is left behind.
  const before_ = process.env.TMPDIR;
  let directory = "";
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "zct-"));
    process.env.TMPDIR = directory;
  });
  after(async () => {
    if (before_ === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before_;
    await rm(directory, { recursive: true, force: true });
  });
  const leftovers = () => readdirSync(directory).filter((name) => !name.startsWith("zot-client-test-"));

  it("run in this process, with checked arguments", async () => {
    let sum = 0;
    const add = tool({
      name: "add",
      description: "Adds a number to the sum.",
      schema: { type: "object", properties: { number: { type: "number" } }, required: ["number"] },
      run: ({ number }) => String((sum += number)),
    });
    const client = await startScripted({ tools: [add] });
    const entry = (await client.getTools()).find((one) => one.name === "add");
    assert.deepEqual([entry?.description, entry?.parameters, entry?.enabled], [add.description, add.schema, true]);
    const result = resultOf(await collect(client.prompt(`tool:add:{"number":40}`)));
    assert.deepEqual([result.is_error, result.content, sum], [false, [{ type: "text", text: "40" }], 40]);
    const refused = resultOf(await collect(client.prompt(`tool:add:{"number":"many"}`)));
    assert.deepEqual([refused.is_error, sum], [true, 40]);
    assert.match(JSON.stringify(refused.content), /number: expected number/);
  });

  it("return text, JSON, images and errors", async () => {
    /** @type {Record<string, () => any>} */
    const results = {
      nothing: () => undefined,
      json: () => ({ a: [1, 2] }),
      blocks: () => [text("a\u2028b"), image(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), "image/png")],
      refused: () => toolError("not today"),
      throws: () => {
        throw new Error("out of order");
      },
      rejects: () => Promise.reject(new Error("later")),
      function: () => () => {},
      huge: () => "x".repeat(17 * 1024 * 1024),
    };
    const tools = Object.entries(results).map(([name, run]) => tool({ name, description: name, run }));
    const client = await startScripted({ tools });
    const call = async (/** @type {string} */ name) => {
      const { is_error, content } = resultOf(await collect(client.prompt(`tool:${name}:{}`)));
      return [is_error, content.map((block) => (block.type === "text" ? block.text : block.type)).join(" ")];
    };
    assert.deepEqual(await call("json"), [false, `{"a":[1,2]}`]);
    assert.deepEqual(await call("blocks"), [false, "a\u2028b image"]);
    assert.deepEqual(await call("refused"), [true, "not today"]);
    assert.deepEqual(await call("throws"), [true, "out of order"]);
    assert.deepEqual(await call("rejects"), [true, "later"]);
    assert.equal((await call("nothing"))[0], false);
    assert.equal((await call("function"))[0], true);
    assert.match(String((await call("huge"))[1]), /exceeds the limit/);
  });

  it("that hang are aborted by their signal, and abandoned", async () => {
    /** @type {AbortSignal[]} */
    const signals = [];
    const hang = tool({
      name: "hang",
      description: "Never answers.",
      run: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    const client = await startScripted({ tools: [hang] });
    await timeOutOnce(client, "tool:hang:{}", () => signals.length > 0);
    assert.deepEqual(signals.map((signal) => signal.aborted), [true]);
    assert.equal((await client.ask("say:1")).text, "alpha ");
    const asked = client.ask("tool:hang:{}");
    await until("the tool runs", () => signals.length === 2);
    await client.abort();
    assert.equal((await asked).stop, "aborted");
    assert.equal(signals[1]?.aborted, true);
  });

  it("survive a restart and a reload", async () => {
    const echo = tool({ name: "echo", description: "Says it again.", schema: { type: "object", properties: { it: { type: "string" } } }, run: ({ it }) => it ?? "" });
    const client = await startScripted({ tools: [echo] });
    process.kill(/** @type {number} */ (client.pid), "SIGKILL");
    await until("the crash is noticed", () => client.ping().then(() => true, () => false));
    assert.equal(resultOf(await collect(client.prompt(`tool:echo:{"it":"again"}`))).is_error, false);
    assert.deepEqual((await client.reloadExt()).map((one) => one.state), ["ready"]);
    assert.equal(resultOf(await collect(client.prompt(`tool:echo:{"it":"again"}`))).is_error, false);
  });

  it("are private while they run, and leave nothing behind", async () => {
    const nothing = tool({ name: "nothing", description: "x", run: () => "" });
    const known = new Set(leftovers());
    const client = await startScripted({ tools: [nothing] });
    const [made] = leftovers().filter((name) => !known.has(name));
    const madeDirectory = join(directory, made ?? "none");
    const mode = (/** @type {string} */ path) => (statSync(path).mode & 0o777).toString(8);
    assert.deepEqual([mode(madeDirectory), mode(join(madeDirectory, "tools.sock")), mode(join(madeDirectory, "extension.json"))], ["700", "600", "600"]);
    await client.close();
    assert.deepEqual(leftovers().filter((name) => !known.has(name)), []);
    const late = new AbortController();
    const starting = startScripted({ tools: [nothing], signal: late.signal });
    await until("the directory is there", () => leftovers().some((name) => !known.has(name)));
    late.abort();
    await assert.rejects(starting, zotError("closed"));
    // Nor does a failed start leave anything, or a process that ends without closing.
    await assert.rejects(startScripted({ tools: [nothing], provider: "nobody" }), zotError("not_started"));
    const program = `
      import { Client, tool } from "@zot/client";
      await Client.start({ program: ${JSON.stringify(zot)}, provider: "offline", tools: [tool({ name: "x", description: "x", run: () => "" })] });
      process.exit(7);`;
    const run = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { cwd: fileURLToPath(new URL("..", import.meta.url)), encoding: "utf8" });
    assert.equal(run.status, 7, run.stderr);
    assert.deepEqual(leftovers().filter((name) => !known.has(name)), []);
  });

  it("have valid and unique names", async () => {
    const run = () => "";
    assert.throws(() => tool({ name: "no blanks", description: "x", run }), /invalid tool name/);
    assert.throws(() => tool({ name: "x", description: "x", schema: /** @type {any} */ ({ type: "string" }), run }), /"object"/);
    assert.throws(() => tool(/** @type {any} */ ({ name: "x", run })), /needs a description/);
    /** @type {Tool} */
    const twice = tool({ name: "twice", description: "x", run });
    await assert.rejects(startScripted({ tools: [twice, twice] }), /same name/);
    await assert.rejects(startScripted({ tools: [tool({ name: "bash", description: "x", run })] }), zotError("tool_refused", /bash/));
  });
});
