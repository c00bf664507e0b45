/**
 * Checks values against the common keywords of JSON Schema. Other keywords are ignored: the model has
 * read them, and a handler may check them itself.
 */

/** @import { Schema } from "./schema.js" */

/**
 * Returns the first problem with `value`, including the name of the field, or undefined.
 * @param {Schema} schema
 * @param {unknown} value
 * @param {string} [path]
 * @returns {string | undefined}
 */
export function findProblem(schema, value, path = "") {
  const at = path === "" ? "arguments" : path;
  const type = typeOf(value);
  if (schema.type !== undefined) {
    const expected = /** @type {readonly string[]} */ (typeof schema.type === "string" ? [schema.type] : schema.type);
    const fits = expected.includes(type) || (type === "integer" && expected.includes("number"));
    if (!fits) return `${at}: expected ${expected.join(" or ")}, got ${show(value)}`;
  }
  if (schema.enum !== undefined && !schema.enum.some((one) => isEqual(one, value))) {
    return `${at}: expected one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}, got ${show(value)}`;
  }
  if (schema.const !== undefined && !isEqual(schema.const, value)) {
    return `${at}: expected ${JSON.stringify(schema.const)}, got ${show(value)}`;
  }
  if (typeof value === "number") return outside(value, schema.minimum, schema.maximum, `${at}: expected`, "");
  if (typeof value === "string") {
    // JSON Schema counts characters, not UTF-16 units.
    return outside([...value].length, schema.minLength, schema.maxLength, `${at}: expected a length of`, " characters");
  }
  if (Array.isArray(value)) return findArrayProblem(schema, value, path, at);
  if (type === "object") return findObjectProblem(schema, /** @type {Record<string, unknown>} */ (value), path, at);
  return undefined;
}

/** @param {Schema} schema @param {unknown[]} value @param {string} path @param {string} at */
function findArrayProblem(schema, value, path, at) {
  const wrongLength = outside(value.length, schema.minItems, schema.maxItems, `${at}: expected`, " items");
  if (wrongLength !== undefined) return wrongLength;
  if (schema.items === undefined) return undefined;
  for (const [index, item] of value.entries()) {
    const problem = findProblem(schema.items, item, `${path}[${index}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** @param {Schema} schema @param {Record<string, unknown>} value @param {string} path @param {string} at */
function findObjectProblem(schema, value, path, at) {
  const properties = schema.properties ?? {};
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) return `${join(path, name)}: is required`;
  }
  for (const [name, field] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const other = schema.additionalProperties;
    if (known === undefined && other === false) {
      const names = Object.keys(properties);
      return `${join(path, name)}: unknown field of ${at}${names.length > 0 ? ` (known: ${names.join(", ")})` : ""}`;
    }
    const fieldSchema = known ?? (typeof other === "object" ? other : undefined);
    const problem = fieldSchema && findProblem(fieldSchema, field, join(path, name));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * @param {number} amount
 * @param {number | undefined} least
 * @param {number | undefined} most
 * @param {string} before
 * @param {string} unit
 */
function outside(amount, least, most, before, unit) {
  if (least !== undefined && amount < least) return `${before} at least ${least}${unit}, got ${amount}`;
  if (most !== undefined && amount > most) return `${before} at most ${most}${unit}, got ${amount}`;
  return undefined;
}

/** @param {string} path @param {string} name */
function join(path, name) {
  return path === "" ? name : `${path}.${name}`;
}

/** @param {unknown} value */
function typeOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** @param {unknown} value */
function show(value) {
  const json = JSON.stringify(value) ?? typeof value;
  return json.length > 60 ? `${typeOf(value)} ${json.slice(0, 57)}…` : json;
}

/** @param {unknown} one @param {unknown} other */
function isEqual(one, other) {
  return one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));
}
