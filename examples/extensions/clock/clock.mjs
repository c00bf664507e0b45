// Two slash commands in plain Node: /clock [time zone] and /stopwatch. No SDK, nothing to install.
import { createInterface } from "node:readline";

const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);

/** What /clock shows. A zone that nobody knows throws a RangeError. */
function time(zone) {
  const now = new Date();
  const shown = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone || undefined,
    dateStyle: "full",
    timeStyle: "long",
  });
  return shown.format(now);
}

let started;

/** Starts the stopwatch, or stops it and tells the time. */
function stopwatch() {
  if (started === undefined) {
    started = performance.now();
    return { level: "info", message: "stopwatch started" };
  }
  const seconds = (performance.now() - started) / 1000;
  started = undefined;
  return { level: "success", message: `stopwatch stopped after ${seconds.toFixed(1)} s` };
}

function run({ id, name, args = "" }) {
  const response = { type: "command_response", id };
  if (name === "stopwatch") {
    // A notification can be sent at any time; the command itself has nothing to show.
    send({ type: "notify", ...stopwatch() });
    return send({ ...response, action: "noop" });
  }
  try {
    send({ ...response, action: "display", display: time(args) });
  } catch (error) {
    send({ ...response, action: "noop", error: `${error.message}: try Europe/Vienna, or UTC` });
  }
}

send({ type: "hello", name: "clock", version: "1.0.0", capabilities: ["commands"] });
send({ type: "register_command", name: "clock", description: "show the time, here or in a time zone" });
send({ type: "register_command", name: "stopwatch", description: "start the stopwatch, or stop it" });
send({ type: "ready" });

for await (const line of createInterface({ input: process.stdin })) {
  const frame = JSON.parse(line);
  if (frame.type === "command_invoked") run(frame);
  if (frame.type === "shutdown") {
    send({ type: "shutdown_ack" });
    break;
  }
}
