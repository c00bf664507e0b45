// A zot that is killed: what is restored, and what is not.
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";

import { cleanUp, collect, skipScripted, startScripted, temporaryDirectory, until, zotError } from "./support.js";

/** @import { Client, RestartInfo } from "@zot/client" */

/** @param {Client} client */
function kill(client) {
  process.kill(/** @type {number} */ (client.pid), "SIGKILL");
}

describe("after a crash", { skip: skipScripted }, () => {
  afterEach(cleanUp);
  it("between two prompts, the conversation is restored byte for byte", async () => {
    /** @type {RestartInfo[]} */
    const restarts = [];
    const client = await startScripted({ onRestart: (info) => void restarts.push(info) });
    await client.ask(`think:two words:tool:read:{"path":  "missing"}`);
    await client.ask("raw:grüße \u2028 🦊");
    const messages = await client.getMessages({ full: true });
    const pid = client.pid;
    kill(client);
    await until("the next command is answered", () => client.ping().then(() => true, () => false));
    assert.notEqual(client.pid, pid);
    assert.deepEqual(await client.getMessages({ full: true }), messages);
    assert.deepEqual(restarts.map(({ error, messageCount, repaired }) => [error.code, messageCount, repaired.results_added]), [["crashed", messages.length, 0]]);
    assert.match(String(restarts[0]?.error.message), /SIGKILL/);
    assert.equal((await client.ask("say:1")).text, "alpha ");
  });

  it("in the middle of a prompt, it throws, and finished prompts are kept", async () => {
    const client = await startScripted();
    await client.ask("say:1");
    const kept = await client.getMessages({ full: true });
    await assert.rejects(async () => {
      for await (const event of client.prompt("hangmid")) if (event.type === "text_delta") kill(client);
    }, zotError("crashed", /SIGKILL/));
    assert.deepEqual(await client.getMessages({ full: true }), kept);
  });

  it("in a later turn of a prompt, the turns before it are kept", async () => {
    const client = await startScripted();
    await assert.rejects(async () => {
      for await (const event of client.prompt(`loop:3:bash:{"command":"sleep 1"}`)) if (event.type === "turn_end" && (await client.getMessages()).length >= 4) kill(client);
    }, zotError("crashed"));
    const roles = (await client.getMessages()).map((message) => message.role);
    assert.deepEqual(roles.slice(0, 3), ["user", "assistant", "tool"]);
  });

  it("settings are restored", async () => {
    const client = await startScripted();
    await client.setModel("gpt-5-mini");
    await client.setTools(["read"]);
    await client.setSystemPrompt("Be brief.");
    await client.subscribe({ events: ["text_delta"] });
    kill(client);
    await until("the next command is answered", () => client.ping().then(() => true, () => false));
    assert.equal((await client.getState()).model, "gpt-5-mini");
    assert.deepEqual((await client.getTools()).filter((one) => one.enabled).map((one) => one.name), ["read"]);
    const types = new Set((await collect(client.prompt("say:2"))).map((event) => event.type));
    assert.ok(types.has("text_delta") && !types.has("user_message"), [...types].join());
  });

  it("cleared and set conversations are restored", async () => {
    const client = await startScripted();
    await client.ask("say:1");
    await client.clear();
    kill(client);
    await until("the next command is answered", () => client.ping().then(() => true, () => false));
    assert.deepEqual(await client.getMessages(), []);
    await client.setMessages([{ role: "user", content: [{ type: "text", text: "hi" }] }]);
    kill(client);
    await until("the next command is answered", () => client.ping().then(() => true, () => false));
    assert.equal((await client.getMessages()).length, 1);
  });

  it("a session continues in its file, even a forked one", async () => {
    const path = join(await temporaryDirectory(), "talk.jsonl");
    const first = await startScripted({ session: path });
    await first.ask("say:1");
    await first.close();
    /** @type {RestartInfo[]} */
    const restarts = [];
    const client = await startScripted({ session: path, fork: true, onRestart: (info) => void restarts.push(info) });
    await client.ask("say:1");
    const { session } = await client.getState();
    assert.notEqual(session?.path, path);
    kill(client);
    await until("the next command is answered", () => client.ping().then(() => true, () => false));
    const state = await client.getState();
    assert.deepEqual([state.session, state.message_count], [session, 4]);
    assert.deepEqual(restarts.map((info) => info.messageCount), [4]);
  });

  it("with `restart: false` nothing is restarted", async () => {
    const client = await startScripted({ restart: false });
    kill(client);
    await until("the crash is noticed", () => client.ping().then(() => false, () => true));
    await assert.rejects(client.ping(), zotError("crashed", /SIGKILL/));
  });
});
