// Against the real zot: ZOT_BIN=target/release/zot node --test tests/client.test.js
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";

import { Client } from "@zot/client";

import { cleanUp, collect, isAlive, skip, skipScripted, startOffline, startScripted, temporaryDirectory, textOf, timeOutOnce, zotError } from "./support.js";

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

describe("the offline model", { skip }, () => {
  afterEach(cleanUp);
  it("responds, with every event in order", async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, "notes.txt"), "buy milk\ncall Ada\n");
    const client = await startOffline({ cwd });
    const events = await collect(client.prompt("count the lines in notes.txt"));
    const types = events.map((event) => event.type);
    assert.deepEqual([types[0], types[1], types.at(-1)], ["user_message", "turn_start", "done"]);
    const answer = await client.ask("count the lines in notes.txt");
    assert.equal(answer.text, "notes.txt has 2 lines.");
    assert.equal(answer.stop, "end");
    assert.ok(answer.usage.input > 0 && answer.usage.output > 0);
  });

  it("responds to every command", async () => {
    const client = await startOffline();
    const hello = await client.hello();
    assert.deepEqual([hello.protocol_version, hello.provider], [1, "offline"]);
    assert.equal((await client.getState()).busy, false);
    assert.deepEqual(await client.getMessages(), []);
    assert.deepEqual((await client.getUsage()).turns, []);
    assert.deepEqual((await client.getModels()).map((model) => model.id), ["offline"]);
    assert.equal(await client.setModel("offline"), "offline");
    assert.equal(await client.setReasoning("high"), "high");
    assert.equal(await client.setReasoning(), null);
    const enabled = (/** @type {import("@zot/client").ToolEntry[]} */ tools) => tools.filter((tool) => tool.enabled).map((tool) => tool.name);
    assert.deepEqual(enabled(await client.setTools(["read"])), ["read"]);
    assert.deepEqual(enabled(await client.getTools()), ["read"]);
    assert.equal((await client.setTools()).length, 5);
    await client.setSystemPrompt("Be brief.");
    await client.ping();
    const { message_count, repaired } = await client.setMessages([{ role: "user", content: [{ type: "text", text: "hi" }] }]);
    assert.deepEqual([message_count, repaired.results_added], [1, 0]);
    assert.equal((await client.getMessages({ full: true }))[0]?.role, "user");
    await client.clear();
    assert.equal((await client.getState()).message_count, 0);
    const subscribed = await client.subscribe({ events: ["text_delta"] });
    assert.ok(subscribed.includes("text_delta") && subscribed.includes("done") && !subscribed.includes("tool_use_start"));
    assert.ok((await client.subscribe()).includes("tool_use_start"));
    assert.deepEqual(await client.getCommands(), []);
    assert.deepEqual(await client.reloadExt(), []);
    await client.abort();
  });

  it("names the session of the conversation", async () => {
    const cwd = await temporaryDirectory();
    const path = join(cwd, "talk.jsonl");
    const client = await startOffline({ cwd, session: path });
    await client.ask("hello");
    const { session } = await client.getState();
    assert.equal(session?.path, path);
    const [first] = (await readFile(path, "utf8")).split("\n");
    assert.equal(JSON.parse(first ?? "").meta.id, session?.id);
    const unkept = await startOffline();
    assert.equal((await unkept.getState()).session, undefined);
  });

  it("resumes and forks a session", async () => {
    const cwd = await temporaryDirectory();
    const env = { ZOT_HOME: join(cwd, "home") };
    const path = join(cwd, "talk.jsonl");
    const first = await startOffline({ cwd, env, session: path });
    await first.ask("hello");
    const { session } = await first.getState();
    await first.close();
    const kept = await readFile(path, "utf8");
    const fork = await startOffline({ cwd, env, resume: path, fork: true });
    await fork.ask("hello");
    const forked = await fork.getState();
    await fork.close();
    assert.equal(forked.message_count, 4);
    assert.notEqual(forked.session?.id, session?.id);
    assert.equal(await readFile(path, "utf8"), kept);
    const resumed = await startOffline({ cwd, env, resume: forked.session?.id.slice(0, 12) });
    assert.deepEqual((await resumed.getState()).session, forked.session);
    await resumed.close();
    const newest = await startOffline({ cwd, env, resume: true });
    assert.deepEqual((await newest.getState()).session, forked.session);
  });

  it("confines the tools in a jail", async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, "outside.txt"), "secret");
    await mkdir(join(directory, "work"));
    const client = await startOffline({ cwd: join(directory, "work"), jail: true });
    assert.equal((await client.getState()).jailed, true);
    assert.doesNotMatch((await client.ask("read ../outside.txt")).text, /secret/);
  });

  it("chooses and changes the sandbox", async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, "outside.txt"), "secret");
    await writeFile(join(directory, "shared.txt"), "shared");
    await mkdir(join(directory, "work"));
    const rules = { level: /** @type {const} */ ("workspace"), read: ["../shared.txt"], connect: ["example.com:443"], openFiles: 64 };
    const client = await startOffline({ cwd: join(directory, "work"), sandbox: rules });
    const { caveats: _, ...found } = (await client.getState()).sandbox ?? {};
    assert.deepEqual(found, { level: "workspace", read: ["../shared.txt"], connect: ["example.com:443"], open_files: 64 });
    assert.doesNotMatch((await client.ask("read ../outside.txt")).text, /secret/);
    assert.match((await client.ask("read ../shared.txt")).text, /shared/);
    const changed = await client.setSandbox({ level: "read-only", connect: [], openFiles: 0 });
    assert.deepEqual([changed.level, changed.read, changed.connect, changed.open_files], ["read-only", ["../shared.txt"], undefined, undefined]);
    assert.equal((await client.setSandbox("off")).level, "off");
    assert.equal((await client.getState()).sandbox, undefined);
    const wrong = /** @type {any} */ ("strict");
    await assert.rejects(client.setSandbox(wrong), zotError("invalid_argument"));
  });

  it("passes the limits of the sandbox, and does not take no program at all for every program", async () => {
    const level = /** @type {const} */ ("workspace");
    const client = await startOffline({ sandbox: { level, memoryMib: 4096, processes: 500, processorSeconds: 60, openFiles: 64 } });
    const { memory_mib, processes, processor_seconds, open_files } = (await client.getState()).sandbox ?? {};
    assert.deepEqual([memory_mib, processes, processor_seconds, open_files], [4096, 500, 60, 64]);
    const unlimited = await startOffline({ sandbox: { level, memoryMib: 0, openFiles: 0 } });
    assert.equal((await unlimited.getState()).sandbox?.open_files, undefined);
    await assert.rejects(startOffline({ sandbox: { level, run: [] } }), zotError("bad_option", /call `setSandbox`/));
    assert.deepEqual((await client.setSandbox({ level, run: [] })).run, []);
  });

  it("does not take a wrong sandbox for no sandbox", async () => {
    const client = await startOffline({ sandbox: "workspace" });
    for (const [wrong, message] of [
      [{ connect: ["a.com"] }, /expected "off", "workspace", "read-only" or an object with such a `level`/],
      [null, /expected "off"/],
      [true, /expected "off"/],
      [{ level: "workspace", conect: ["a.com"] }, /unknown option "conect" \(expected level, .*connect/],
      [{ level: "workspace", open_files: 64 }, /unknown option "open_files"/],
      [{ level: "workspace", read: "/tmp" }, /`read` takes an array of strings/],
      [{ level: "workspace", processes: "10" }, /`processes` takes a whole number/],
      [{ level: "workspace", memoryMib: NaN }, /`memoryMib` takes a whole number/],
    ]) {
      const sandbox = /** @type {any} */ (wrong);
      await assert.rejects(startOffline({ sandbox }), zotError("bad_option", /** @type {RegExp} */ (message)));
      await assert.rejects(client.setSandbox(sandbox), zotError("bad_option", /** @type {RegExp} */ (message)));
    }
    const nothing = /** @type {any} */ (undefined);
    await assert.rejects(client.setSandbox(nothing), zotError("bad_option", /setSandbox: expected "off"/));
    assert.equal((await client.getState()).sandbox?.level, "workspace");
  });

  it("rejects options it does not know, and those that contradict each other", async () => {
    const wrong = /** @type {any} */ ({ sesion: "talk.jsonl" });
    await assert.rejects(Client.start(wrong), zotError("bad_option", /unknown option "sesion" \(expected one of .*session/));
    await assert.rejects(Client.start({ session: "talk.jsonl", resume: true }), zotError("bad_option", /pass one of them/));
    await assert.rejects(Client.start({ fork: true }), zotError("bad_option", /needs a session/));
    const client = await startOffline();
    const late = /** @type {any} */ ({ timeout: 1000 });
    assert.throws(() => client.prompt("hello", late), zotError("bad_option", /prompt: unknown option "timeout"/));
    await assert.rejects(client.ask("hello", late), zotError("bad_option"));
    await assert.rejects(client.getState(late), zotError("bad_option", /get_state: unknown option "timeout"/));
  });

  it("rejects with a code", async () => {
    const client = await startOffline();
    await assert.rejects(client.setModel("ofline"), zotError("unknown_model", /did you mean offline/));
    await assert.rejects(client.steer("x"), zotError("not_running"));
    await assert.rejects(client.confirm("x", { allow: true }), zotError("not_waiting"));
    await assert.rejects(client.invokeCommand("nots"), zotError("unknown_command"));
    const panel = { extension: "nobody", panelId: "p" };
    await assert.rejects(client.panelKey({ ...panel, key: "x" }), zotError("unavailable"));
    await assert.rejects(client.panelResize({ ...panel, width: 1, height: 1 }), zotError("unavailable"));
    await assert.rejects(client.panelClose(panel), zotError("unavailable"));
    await assert.rejects(client.ask(""), zotError("invalid_argument"));
    await assert.rejects(client.compact(), zotError("compaction"));
    await assert.rejects(client.ask("x".repeat(17 * 1024 * 1024)), zotError("line_too_long"));
    await client.ping();
  });

  it("cannot start with invalid options, and reports why", async () => {
    const { ZOT_BIN } = process.env;
    await assert.rejects(Client.start({ program: ZOT_BIN ?? "", provider: "nobody" }), zotError("not_started", /exit code 2.*nobody/s));
  });

  it("sends the token of its environment", async () => {
    const client = await startOffline({ env: { ZOTCORE_RPC_TOKEN: "s3cret" } });
    await client.ping();
  });

  it("runs the commands of extensions and panels", async () => {
    const directory = await temporaryDirectory();
    const program = `
      const send = (frame) => console.log(JSON.stringify(frame));
      send({ type: "hello", name: "demo", version: "1", capabilities: [] });
      for (const name of ["ask", "show", "panel"]) send({ type: "register_command", name, description: name });
      send({ type: "ready" });
      require("readline").createInterface(process.stdin).on("line", (line) => {
        const { type, id, name, key } = JSON.parse(line);
        const answer = { type: "command_response", id };
        if (name === "ask") send({ ...answer, action: "prompt", prompt: "hello" });
        if (name === "show") send({ ...answer, action: "display", display: "shown" });
        if (name === "panel") send({ ...answer, action: "open_panel", open_panel: { id: "p", lines: [] } });
        if (type === "panel_key") send({ type: "panel_render", panel_id: "p", lines: [key] });
      });`;
    await writeFile(join(directory, "demo.cjs"), program);
    await writeFile(join(directory, "extension.json"), JSON.stringify({ name: "demo", exec: process.execPath, args: ["demo.cjs"] }));
    /** @type {((event: import("@zot/client").Event) => void) | undefined} */
    let onPanel;
    const drawn = new Promise((resolve) => {
      onPanel = (event) => event.type === "ext_panel" && resolve(event.lines);
    });
    const client = await startOffline({ args: ["--ext", directory], onEvent: (event) => onPanel?.(event) });
    assert.deepEqual((await client.getCommands()).map((command) => command.name), ["ask", "show", "panel"]);
    assert.equal((await client.invokeCommand("show")).display, "shown");
    const invoked = await client.invokeCommand("/ask");
    assert.ok(invoked.events);
    assert.equal((await collect(invoked.events)).at(-1)?.type, "done");
    const left = await client.invokeCommand("ask");
    await left.events?.return();
    assert.equal((await client.getState()).busy, false);
    await client.invokeCommand("panel");
    await client.panelKey({ extension: "demo", panelId: "p", key: "down" });
    assert.deepEqual(await drawn, ["down"]);
  });

  it("can be closed twice, by `using` and by a signal, and is unusable afterwards", async () => {
    const client = await startOffline();
    const pid = client.pid;
    await Promise.all([client.close(), client.close()]);
    await client.close();
    await client[Symbol.asyncDispose]();
    assert.equal(isAlive(pid), false);
    await assert.rejects(client.ping(), zotError("closed"));
    await assert.rejects(client.ask("hello"), zotError("closed"));
    await client.prompt("never pulled").return();

    const controller = new AbortController();
    const other = await startOffline({ signal: controller.signal });
    controller.abort();
    await other.close();
    await assert.rejects(other.ping(), zotError("closed"));
    await assert.rejects(startOffline({ signal: controller.signal }), zotError("closed"));
    const early = new AbortController();
    const starting = startOffline({ signal: early.signal });
    early.abort();
    await assert.rejects(starting, zotError("closed"));
  });

  it("keeps a conversation of 20 MiB", async () => {
    const client = await startOffline();
    const message = (/** @type {"user" | "assistant"} */ role) => ({ role, content: [{ type: /** @type {const} */ ("text"), text: "x".repeat(1024 * 1024) }] });
    const messages = Array.from({ length: 10 }, () => [message("user"), message("assistant")]).flat();
    assert.equal((await client.setMessages(messages)).message_count, 20);
    const back = await client.getMessages({ full: true });
    assert.deepEqual(back.map(({ role, content }) => ({ role, content })), messages);
  });
});

describe("the scripted model", { skip: skipScripted }, () => {
  afterEach(cleanUp);
  it("streams text", async () => {
    const client = await startScripted();
    assert.equal(textOf(await collect(client.prompt("say:3"))), "alpha beta gamm ");
    const answer = await client.ask("raw:a\u2028b\u2029c 🦊\r d");
    assert.equal(answer.text, "a\u2028b\u2029c 🦊\r d");
    assert.equal((await client.ask("length")).stop, "length");
  });

  it("takes images in both forms", async () => {
    const client = await startScripted();
    const images = [{ mime_type: "image/png", data: DOT }, { image: Buffer.from(DOT, "base64"), mimeType: "image/png" }];
    await client.ask("say:1", { images });
    const [first] = await client.getMessages({ full: true });
    assert.deepEqual(first?.content.map((block) => (block.type === "image" ? block.data : block.type)), ["text", DOT, DOT]);
  });

  it("fails with the code of the provider's error", async () => {
    const client = await startScripted();
    await assert.rejects(client.ask("err:429:slow down"), zotError("rate_limited", /slow down/));
    const events = await collect(client.prompt("err:401:no such key"));
    assert.deepEqual(events.slice(-2).map((event) => event.type), ["error", "done"]);
    await assert.rejects(client.ask(`loop:5:read:{"path":"x"}`, { maxSteps: 2 }), zotError("budget"));
    assert.equal((await client.ask("say:1")).text, "alpha ");
  });

  it("is busy with one prompt at a time, or queues", async () => {
    const client = await startScripted();
    const first = client.prompt("slow:6:50");
    await first.next();
    await assert.rejects(client.ask("say:1"), zotError("busy"));
    await assert.rejects(client.compact(), zotError("busy"));
    const queued = client.ask("say:2", { whenBusy: "queue" });
    assert.equal(textOf(await collect(first)), "alpha beta gamm delta epsi zeta ");
    assert.equal((await queued).text, "alpha beta ");
  });

  it("is steered", async () => {
    const client = await startScripted();
    const events = [];
    for await (const event of client.prompt("slow:5:50")) {
      events.push(event);
      if (event.type === "assistant_start" && events.filter((one) => one.type === "assistant_start").length === 1) await client.steer("say:1");
    }
    assert.equal(events.filter((event) => event.type === "user_message").length, 2);
  });

  it("is aborted by leaving the loop", async () => {
    const client = await startScripted();
    const started = Date.now();
    for await (const event of client.prompt("hangmid")) {
      if (event.type === "text_delta") break;
    }
    assert.ok(Date.now() - started < 5_000);
    assert.equal((await client.getState()).busy, false);
    assert.equal((await client.ask("say:1")).text, "alpha ");
  });

  it("is aborted by a signal, by a timeout, by abort()", async () => {
    const client = await startScripted();
    await assert.rejects(client.ask("hang", { signal: AbortSignal.timeout(100) }), zotError("aborted"));
    await assert.rejects(client.ask("hang", { timeoutMs: 100 }), zotError("timeout", /100 ms/));
    await assert.rejects(client.ask("hang", { signal: AbortSignal.abort() }), zotError("aborted"));
    const asked = client.ask(`tool:bash:{"command":"sleep 60"}`);
    const watching = client.getState().then(() => client.abort());
    await watching;
    assert.equal((await asked).stop, "aborted");
    assert.equal((await client.ask("say:1")).text, "alpha ");
  });

  it("withdraws a queued prompt without affecting the running one", async () => {
    const client = await startScripted();
    const first = client.prompt("slow:6:50");
    await first.next();
    await assert.rejects(client.ask("say:1", { whenBusy: "queue", timeoutMs: 20 }), zotError("timeout"));
    assert.equal(textOf(await collect(first)), "alpha beta gamm delta epsi zeta ");
    assert.equal((await client.ask("say:2", { whenBusy: "queue" })).text, "alpha beta ");
  });

  it("is closed in the middle of a prompt", async () => {
    const client = await startScripted();
    const events = client.prompt("hangmid");
    await events.next();
    const pid = client.pid;
    await client.close();
    await assert.rejects(collect(events), zotError("closed"));
    assert.equal(isAlive(pid), false);
  });

  it("compacts", async () => {
    const client = await startScripted();
    for (let round = 0; round < 4; round += 1) await client.ask("say:1");
    const { summary, usage } = await client.compact();
    assert.equal(summary, "SUMMARY");
    assert.ok(usage.input > 0);
    assert.match(JSON.stringify(await client.getMessages()), /Context Summary/);
  });
});

describe("approvals", { skip: skipScripted }, () => {
  afterEach(cleanUp);
  const TOUCH = `tool:bash:{"command":"echo made >> made"}`;
  const made = (/** @type {string} */ cwd) => readFile(join(cwd, "made"), "utf8").catch(() => "");

  it("are a callback", async () => {
    /** @type {[string, unknown, string | undefined][]} */
    const asked = [];
    for (const [answer, expected, result] of /** @type {const} */ ([
      [true, "made\n", /exit 0/],
      [false, "", /refused/],
      [undefined, "", /refused/],
      [{ allow: false, reason: "keep it clean" }, "", /refused: keep it clean/],
      [{ allow: true, args: { command: "echo other >> made" } }, "other\n", /exit 0/],
      [new Error("out of order"), "", /refused: out of order/],
    ])) {
      const cwd = await temporaryDirectory();
      const client = await startScripted({
        cwd,
        approve: ({ name, args, preview }) => {
          asked.push([name, args, preview]);
          if (answer instanceof Error) throw answer;
          return answer;
        },
      });
      const events = await collect(client.prompt(TOUCH));
      assert.match(JSON.stringify(events.find((event) => event.type === "tool_result")), result);
      assert.equal(await made(cwd), expected);
    }
    assert.deepEqual(asked[0], ["bash", { command: "echo made >> made" }, "echo made >> made"]);
  });

  it("apply to some tools only, and once if the decision is remembered", async () => {
    const cwd = await temporaryDirectory();
    let questions = 0;
    const client = await startScripted({
      cwd,
      confirm: ["bash"],
      approve: () => {
        questions += 1;
        return { allow: true, remember: "tool" };
      },
    });
    await client.ask(`tool:write:{"path":"other","content":"x"}`);
    assert.equal(questions, 0);
    await client.ask(`loop:3:bash:{"command":"echo made >> made"}`);
    assert.equal(questions, 1);
    assert.equal(await made(cwd), "made\nmade\nmade\n");
  });

  it("end with the prompt, and can be given by `confirm`", async () => {
    /** @type {AbortSignal | undefined} */
    let signal;
    const client = await startScripted({
      approve: (request) => {
        signal = request.signal;
        return new Promise(() => {});
      },
    });
    await timeOutOnce(client, TOUCH, () => signal !== undefined);
    assert.equal(signal?.aborted, true);

    const cwd = await temporaryDirectory();
    const other = await startScripted({ cwd, confirm: true });
    for await (const event of other.prompt(TOUCH)) {
      if (event.type === "tool_confirm") await other.confirm(event.id, { allow: true });
    }
    assert.equal(await made(cwd), "made\n");
  });
});
