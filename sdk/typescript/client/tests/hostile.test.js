// Programs that are not zot, and a zot that misbehaves.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";

import { Client } from "@zot/client";

import { cleanUp, collect, isAlive, startFake, temporaryDirectory, textOf, until, zotError } from "./support.js";

describe("a program that is not zot", () => {
  afterEach(cleanUp);
  it("is missing", async () => {
    await assert.rejects(Client.start({ program: "/nowhere/zot" }), zotError("not_started", /\/nowhere\/zot: no such program.*`program`/));
  });

  it("ends immediately: the error includes its standard error", async () => {
    await assert.rejects(startFake("early"), zotError("not_started", /exit code 2: zot: unknown flag --dance/));
  });

  it("greets people", async () => {
    await assert.rejects(startFake("noise"), zotError("protocol", /not a frame.*Welcome!/));
  });

  it("writes nothing", async () => {
    await assert.rejects(startFake("silent", { startTimeoutMs: 300 }), zotError("timeout"));
  });

  it("uses another version", async () => {
    await assert.rejects(startFake("version"), zotError("protocol", /version 2/));
  });

  it("does not end by itself: it is killed", async () => {
    const client = await startFake("immortal", { closeTimeoutMs: 50 });
    const pid = client.pid;
    await client.close();
    assert.equal(isAlive(pid), false);
  });
});

describe("output that is odd but allowed", () => {
  afterEach(cleanUp);
  it("has split characters, U+2028 and carriage returns", async () => {
    const client = await startFake("split");
    assert.equal(textOf(await collect(client.prompt("go"))), "grüße 🦊 a\u2028b\u2029c");
  });

  it("has a line of 20 MiB", async () => {
    const client = await startFake("long");
    assert.equal(textOf(await collect(client.prompt("go"))).length, 10 * 1024 * 1024);
  });

  it("has unknown events, fields and responses", async () => {
    const client = await startFake("unknown");
    assert.deepEqual(await collect(client.prompt("go")), [
      { type: "moon_phase", phase: { name: "full" } },
      { type: "text_delta", delta: "text", colour: "red" },
      { type: "done" },
    ]);
  });
});

it("reports when to retry", async () => {
  const client = await startFake("limited");
  await assert.rejects(client.ask("go"), { code: "rate_limited", retryAfterMs: 20_000 });
  await cleanUp();
});

describe("output that is broken", () => {
  afterEach(cleanUp);
  for (const [mode, message] of /** @type {const} */ ([["garbage", /Segmentation fault/], ["list", /\[1,2\]/], ["binary", /not a frame/]])) {
    it(`ends the prompt and the process: ${mode}`, async () => {
      const client = await startFake(mode);
      const pid = client.pid;
      await assert.rejects(collect(client.prompt("go")), zotError("protocol", message));
      assert.equal(isAlive(pid), false);
      // The next command starts a new process.
      await client.ping();
      assert.notEqual(client.pid, pid);
    });
  }
});

it("dies within a line: that is a crash", async () => {
  const client = await startFake("half");
  await assert.rejects(collect(client.prompt("go")), zotError("crashed", /SIGKILL/));
  await cleanUp();
});

describe("a zot that hangs", () => {
  afterEach(cleanUp);
  it("does not respond to a command: the client stays usable", async () => {
    const client = await startFake("deaf");
    await assert.rejects(client.ping({ timeoutMs: 50 }), zotError("timeout", /ping within 50 ms/));
    assert.equal((await client.getState()).busy, false);
    await assert.rejects(client.ping({ signal: AbortSignal.timeout(50) }), zotError("aborted"));
    assert.equal((await client.getState()).busy, false);
  });

  it("ignores an abort: it is killed and replaced", async () => {
    const client = await startFake("deaf", { abortTimeoutMs: 100 });
    const pid = client.pid;
    await assert.rejects(collect(client.prompt("go", { timeoutMs: 50 })), zotError("timeout"));
    assert.equal(isAlive(pid), false);
    assert.equal((await client.getState()).busy, false);
  });

  it("crashes again and again: it is no longer restarted", async () => {
    const client = await startFake("garbage");
    for (let round = 0; round <= 5; round += 1) await assert.rejects(collect(client.prompt("go")), zotError("protocol"));
    await assert.rejects(client.ping(), zotError("crashed", /5 times in a row.*Segmentation fault/));
  });
});

describe("a slow consumer", () => {
  afterEach(cleanUp);
  it("pauses reading, and loses nothing", async () => {
    const file = join(await temporaryDirectory(), "written");
    const client = await startFake("flood", { env: { FAKE_FILE: file } });
    const events = client.prompt("go");
    await events.next();
    const written = async () => Number(await readFile(file, "utf8").catch(() => "0"));
    let last = -1;
    let since = Date.now();
    await until("the writer stands still", async () => {
      const now = await written();
      if (now !== last) since = Date.now();
      last = now;
      return last > 0 && Date.now() - since > 300;
    });
    assert.ok(last < 2_000, `${last} events were read ahead`);
    // A response that is awaited still arrives.
    await client.ping();
    const rest = await collect(events);
    const numbers = rest.flatMap((event) => (event.type === "text_delta" ? [Number.parseInt(event.delta, 10)] : []));
    assert.deepEqual(numbers, Array.from({ length: 19_999 }, (_, index) => index + 1));
  });

  it("does not block close", async () => {
    const file = join(await temporaryDirectory(), "written");
    const client = await startFake("flood", { env: { FAKE_FILE: file }, closeTimeoutMs: 100 });
    const events = client.prompt("go");
    await events.next();
    await client.close();
    await assert.rejects(collect(events), zotError("closed"));
  });
});
