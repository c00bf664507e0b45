import assert from "node:assert/strict";
import { it } from "node:test";

import { encodeLine, LineReader } from "../src/lines.js";
import { findProblem } from "../src/schema-check.js";

it("writes a frame as one line for every reader", () => {
  const line = encodeLine({ text: "a\u2028b\u2029c\nd\ud800" });
  assert.equal(line, '{"text":"a\\u2028b\\u2029c\\nd\\ud800"}\n');
  assert.deepEqual(JSON.parse(line), { text: "a\u2028b\u2029c\nd\ud800" });
});

it("reads the same values however the bytes are split", () => {
  const bytes = Buffer.from('{"a":"é😀\u2028"}\r\n\nbroken\n[2]\n{"last":1}');
  for (let size = 1; size <= bytes.length; size += 1) {
    /** @type {unknown[]} */
    const seen = [];
    const reader = new LineReader(
      (value) => seen.push(value),
      (_reason, line) => seen.push(`broken: ${line}`),
    );
    for (let start = 0; start < bytes.length; start += size) reader.push(bytes.subarray(start, start + size));
    reader.end();
    assert.deepEqual(seen, [{ a: "é😀\u2028" }, "broken: broken", [2], { last: 1 }], `pieces of ${size}`);
  }
});

/** @type {[string, import("../src/schema.js").Schema, unknown, string | undefined][]} */
const problems = [
  ["type", { type: "string" }, 1, "arguments: expected string, got 1"],
  ["type list", { type: ["string", "null"] }, null, undefined],
  ["integer", { type: "integer" }, 1.5, "arguments: expected integer, got 1.5"],
  ["integer as number", { type: "number" }, 2, undefined],
  ["object is no array", { type: "object" }, [], "arguments: expected object, got []"],
  ["required", { type: "object", required: ["city"] }, {}, "city: is required"],
  ["required is an own field", { type: "object", required: ["toString"] }, {}, "toString: is required"],
  ["nested", { properties: { a: { properties: { b: { type: "boolean" } } } } }, { a: { b: 1 } }, "a.b: expected boolean, got 1"],
  ["items", { properties: { a: { items: { type: "string" } } } }, { a: ["x", 2] }, "a[1]: expected string, got 2"],
  ["enum", { properties: { a: { enum: ["x", 1] } } }, { a: "y" }, 'a: expected one of "x", 1, got "y"'],
  ["const", { const: { a: 1 } }, { a: 1 }, undefined],
  ["minimum", { properties: { n: { minimum: 3 } } }, { n: 2 }, "n: expected at least 3, got 2"],
  ["maximum", { properties: { n: { maximum: 3 } } }, { n: 4 }, "n: expected at most 3, got 4"],
  ["minLength", { properties: { s: { minLength: 1 } } }, { s: "" }, "s: expected a length of at least 1 characters, got 0"],
  ["maxLength counts characters", { maxLength: 2 }, "😀😀", undefined],
  ["minItems", { minItems: 1 }, [], "arguments: expected at least 1 items, got 0"],
  ["additionalProperties", { properties: { a: {} }, additionalProperties: false }, { b: 1 }, "b: unknown field of arguments (known: a)"],
  ["additionalProperties schema", { additionalProperties: { type: "string" } }, { b: 1 }, "b: expected string, got 1"],
  ["unknown keyword", { pattern: "^a$" }, "b", undefined],
];
for (const [name, schema, value, expected] of problems) {
  it(`checks ${name}`, () => assert.equal(findProblem(schema, value), expected));
}
