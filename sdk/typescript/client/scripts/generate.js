// Generates the files that come from elsewhere in the repository; `--check` only compares.
//
// - src/protocol.d.ts: every command, response and event, from docs/schema/rpc.schema.json
// - src/ext/: the modules shared with @zot/ext, copied because each package is installed on its own
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** @typedef {{ [keyword: string]: any }} Schema */

const SHARED = ["content.js", "lines.js", "schema-check.js", "schema.d.ts", "tools.d.ts"];
/** The longest type that stays on one line. */
const SHORT = 110;
/** Unions whose members get names of their own: the type and what it is one of. */
const NAMED_UNIONS = ["Command", "Event"];
const at = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

/** @returns {Map<string, string>} path and text of each file */
export function generate() {
  const schema = JSON.parse(readFileSync(at("../../../../docs/schema/rpc.schema.json"), "utf8"));
  const files = new Map([[at("../src/protocol.d.ts"), protocol(schema.$defs)]]);
  for (const name of SHARED) {
    const source = readFileSync(at(`../../src/${name}`), "utf8");
    files.set(at(`../src/ext/${name}`), `// Copied from @zot/ext by scripts/generate.js: change it there.\n${source}`);
  }
  return files;
}

/** Returns the files that are out of date. */
export function outdated() {
  return [...generate()].filter(([path, text]) => !existsSync(path) || readFileSync(path, "utf8") !== text).map(([path]) => path);
}

/** @param {{ [name: string]: Schema }} definitions */
function protocol(definitions) {
  const parts = [
    "// Generated from docs/schema/rpc.schema.json by scripts/generate.js: do not edit.",
    "/** Every frame of `zot rpc`, exactly as on the wire. Ignore fields you do not know. */",
  ];
  // A member of a named union that refers to a definition of its own name takes its place.
  const members = new Map(NAMED_UNIONS.flatMap((union) => definitions[union]?.oneOf.map((/** @type {Schema} */ member) => [nameOf(member, union), member])));
  for (const [name, schema] of Object.entries(definitions)) {
    if (members.has(name)) continue;
    if (!NAMED_UNIONS.includes(name)) {
      parts.push(declaration(name, name === "RequestId" ? { ...schema, description: REQUEST_ID } : schema));
      continue;
    }
    const names = schema.oneOf.map((/** @type {Schema} */ member) => nameOf(member, name));
    for (const member of schema.oneOf) parts.push(declaration(nameOf(member, name), merged(member, definitions)));
    parts.push(`${comment(schema, "")}export type ${name === "Event" ? "KnownEvent" : name} =\n  | ${names.join("\n  | ")};`);
  }
  parts.push(responseData(definitions), UNKNOWN_EVENT);
  return `${parts.join("\n\n")}\n`;
}

const REQUEST_ID = "Chosen by the client; the response repeats it as it came, and has none if the command had none.";

const UNKNOWN_EVENT = `declare enum NotInTheSchema {
  type = "",
}

/**
 * An event that is newer than this package, as it came. Its \`type\` is a string like any other; the
 * odd declaration keeps it apart from the known ones, so that \`event.type === "done"\` tells which it is.
 */
export interface UnknownEvent {
  type: NotInTheSchema;
  readonly [field: string]: unknown;
}

export type Event = KnownEvent | UnknownEvent;

// Without it, everything above counts as exported.
export {};`;

/** What the response to each command has as \`data\`. @param {{ [name: string]: Schema }} definitions */
function responseData(definitions) {
  /** @type {Map<string, string[]>} */
  const data = new Map();
  for (const schema of Object.values(definitions)) {
    const command = schema.properties?.command?.const;
    if (command === undefined) continue;
    const type = schema.properties.data === undefined ? "undefined" : typeOf(schema.properties.data, "  ");
    data.set(command, [...(data.get(command) ?? []), type]);
  }
  const lines = [...data].sort(([one], [other]) => (one < other ? -1 : 1)).map(([command, types]) => `  ${command}: ${types.join(" | ")};`);
  return `/** What a successful response to a command carries. */\nexport interface ResponseData {\n${lines.join("\n")}\n}`;
}

/** @param {Schema} member @param {string} union */
function nameOf(member, union) {
  const words = member.properties.type.const.split("_");
  return words.map((/** @type {string} */ word) => word[0]?.toUpperCase() + word.slice(1)).join("") + union;
}

/** A member with the fields of what it refers to. @param {Schema} member @param {{ [name: string]: Schema }} definitions */
function merged(member, definitions) {
  if (member.$ref === undefined) return member;
  const { $ref, ...own } = member;
  const base = definitions[$ref.split("/").pop()];
  return { ...own, properties: { ...own.properties, ...base?.properties }, required: [...own.required, ...(base?.required ?? [])] };
}

/** @param {string} name @param {Schema} schema */
function declaration(name, schema) {
  if (schema.type === "object" && schema.properties !== undefined) {
    return `${comment(schema, "")}export interface ${name} ${objectType(schema, "")}`;
  }
  return `${comment(schema, "")}export type ${name} = ${typeOf(schema, "")};`;
}

/** @param {Schema | true} schema @param {string} indent @returns {string} */
function typeOf(schema, indent) {
  if (schema === true) return "unknown";
  if (schema.$ref !== undefined) return schema.$ref.split("/").pop();
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined) return alternatives.map((/** @type {Schema} */ one) => typeOf(one, indent)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one)).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array": {
      const items = typeOf(schema.items, indent);
      return items.includes(" ") ? `(${items})[]` : `${items}[]`;
    }
    case "object":
      return objectType(schema, indent);
    default:
      throw new Error(`the schema has something this script does not know: ${JSON.stringify(schema)}`);
  }
}

/** @param {Schema} schema @param {string} indent */
function objectType(schema, indent) {
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  // The tag first, as on the wire.
  const names = Object.keys(schema.properties).sort((one, other) => Number(other === "type") - Number(one === "type"));
  const fields = names.map((name) => {
    const field = schema.properties[name];
    // What an id is for is said once, above its type.
    const words = name === "id" && field.$ref !== undefined ? "" : comment(field, inner);
    return `${words}${inner}${name}${required.has(name) ? "" : "?"}: ${typeOf(field, inner)};`;
  });
  const short = `{ ${fields.map((field) => field.trim()).join(" ").slice(0, -1)} }`;
  if (short.length < SHORT && !short.includes("\n") && !short.includes("/**")) return short;
  return `{\n${fields.join("\n")}\n${indent}}`;
}

/** @param {Schema} schema @param {string} indent */
function comment(schema, indent) {
  if (schema.description === undefined) return "";
  return `${indent}/** ${schema.description.replaceAll("\n", " ").replaceAll("*/", "*\u200b/")} */\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === "--check") {
    const wrong = outdated();
    if (wrong.length > 0) {
      process.stderr.write(`out of date, run \`npm run generate\` in sdk/typescript/client:\n${wrong.join("\n")}\n`);
      process.exitCode = 1;
    }
  } else {
    mkdirSync(at("../src/ext"), { recursive: true });
    for (const [path, text] of generate()) writeFileSync(path, text);
  }
}
