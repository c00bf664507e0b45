#!/usr/bin/env node
// One prompt through `zot rpc`; see ../README.md. Node 18, no packages.
import { spawn } from "node:child_process";

const LF = 0x0a;
const note = (text) => process.stderr.write(`${text}\n`);

const args = process.argv.slice(2);
const allow = args[0] === "--yes";
if (allow) args.shift();
if (args.length === 0) {
  note("usage: client.mjs [--yes] PROMPT [FLAGS OF ZOT]");
  process.exit(2);
}
const [prompt, ...flags] = args;

// A session of its own: the terminal's Ctrl-C shall reach this program only.
const zot = spawn(process.env.ZOT || "zot", ["rpc", ...flags], { stdio: ["pipe", "pipe", "inherit"], detached: true });
let status = 0;
let isDone = false;

zot.on("error", (error) => {
  note(`cannot start zot: ${error.message}`);
  process.exit(1);
});
zot.on("close", (code) => {
  if (!isDone) note(`zot ended with exit code ${code}`);
  process.exitCode = isDone ? status : 1;
});
zot.stdin.on("error", () => {}); // zot has ended, and the end of its output says so.

const send = (command) => zot.stdin.write(`${JSON.stringify(command)}\n`);

process.on("SIGINT", () => {
  // Remembered here, because no event says so when a tool was what ran.
  status = 130;
  send({ type: "abort" });
});

function handle(frame) {
  switch (frame.type) {
    case "text_delta":
      process.stdout.write(frame.delta);
      break;
    case "tool_call":
      note(`-> ${frame.name} ${JSON.stringify(frame.args)}`);
      break;
    case "tool_confirm":
      note(`${allow ? "allowed" : "refused"}: ${frame.name}: ${frame.preview ?? ""}`);
      send({ type: "confirm", call_id: frame.id, allow });
      break;
    case "error":
      status = 1;
      note(`error (${frame.code}): ${frame.message}`);
      break;
    case "response":
      // An answer to a question that is over is refused, too, and that is all right.
      if (frame.success || frame.code === "not_waiting") break;
      note(`zot refused: ${frame.error} (${frame.code})`);
      status = 1;
      isDone = true;
      zot.stdin.end();
      break;
    case "done":
      process.stdout.write("\n");
      isDone = true;
      zot.stdin.end(); // The end of its input is what ends zot.
      break;
  }
}

// Lines end at LF and nowhere else (readline also ends them at U+2028), and are decoded when they are whole.
let pieces = [];
zot.stdout.on("data", (chunk) => {
  let start = 0;
  for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
    pieces.push(chunk.subarray(start, end));
    handle(JSON.parse(Buffer.concat(pieces).toString("utf8")));
    pieces = [];
    start = end + 1;
  }
  pieces.push(chunk.subarray(start));
});

send({ type: "prompt", message: prompt });
