#!/usr/bin/env node
// @ts-check
// {{name}}: an extension of zot. Frames are JSON objects, one a line: zot's on standard input, ours
// on standard output. Use console.error, never console.log; `zot ext logs {{name}}` shows it.
import { createInterface } from "node:readline";

/** @typedef {{ type: string, id?: string, name?: string, args?: any }} Frame */

/** @param {Record<string, unknown>} frame */
const send = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");

/**
 * What /{{word}} does: see the protocol for the other actions (prompt, insert, open_panel, noop).
 * @param {string} args
 */
const command = (args) => ({ action: "display", display: `Hello, ${args || "world"}!` });

/**
 * What the model gets from {{word}}_greet.
 * @param {{ name?: unknown }} args
 */
function tool(args) {
  if (typeof args.name !== "string") throw new Error("name is missing");
  return `Hello, ${args.name}!`;
}

/** @param {Frame} frame */
function answer(frame) {
  switch (frame.type) {
    case "command_invoked":
      send({ type: "command_response", id: frame.id, ...command(frame.args ?? "") });
      break;
    case "tool_call": {
      let text;
      let failed = false;
      try {
        text = tool(frame.args ?? {});
      } catch (error) {
        // The model can do something about it, so it is told.
        [text, failed] = [String(error), true];
      }
      send({ type: "tool_result", id: frame.id, content: [{ type: "text", text }], is_error: failed });
      break;
    }
    case "shutdown":
      send({ type: "shutdown_ack" });
      process.stdin.destroy();
      break;
    // Other frames are of no interest here, or of a later version of the protocol.
  }
}

send({ type: "hello", name: "{{name}}", version: "0.1.0", capabilities: ["commands", "tools"] });
send({ type: "register_command", name: "{{word}}", description: "say hello" });
send({
  type: "register_tool",
  name: "{{word}}_greet",
  description: "Greets someone by name.",
  schema: {
    type: "object",
    properties: { name: { type: "string", description: "whom to greet" } },
    required: ["name"],
  },
});
send({ type: "ready" });
createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line)));
