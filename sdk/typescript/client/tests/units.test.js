import assert from "node:assert/strict";
import { it } from "node:test";

import { outdated } from "../scripts/generate.js";
import { pieces } from "../src/transcript.js";

it("has the types of the schema and the modules of @zot/ext: run `npm run generate` if not", () => {
  assert.deepEqual(outdated(), []);
});

it("splits a conversation before user messages only", () => {
  const message = (/** @type {"user" | "assistant" | "tool"} */ role, text = "x") => ({ role, content: [{ type: /** @type {const} */ ("text"), text }] });
  const first = [message("user"), message("assistant"), message("tool"), message("assistant")];
  const second = [message("user"), message("assistant")];
  assert.deepEqual(pieces([...first, ...second]), [[...first, ...second]]);
  assert.deepEqual(pieces([...first, ...second], 100), [first, second]);
  assert.deepEqual(pieces([]), [[]]);
});
