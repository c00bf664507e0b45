/** The results of handlers: command responses and decisions of interceptors. */

/**
 * @import { Allow, Block, CommandResponse, JsonObject, Modify, Panel, Replace } from "./index.js"
 */

/** @param {string} text @returns {CommandResponse} */
export function prompt(text) {
  return { action: "prompt", prompt: text };
}

/** @param {string} text @returns {CommandResponse} */
export function insert(text) {
  return { action: "insert", insert: text };
}

/** @param {string} text @returns {CommandResponse} */
export function display(text) {
  return { action: "display", display: text };
}

/** @param {Panel} panel @returns {CommandResponse} */
export function openPanel(panel) {
  return { action: "open_panel", open_panel: panel };
}

/** @returns {CommandResponse} */
export function noop() {
  return { action: "noop" };
}

/** @param {string} message @returns {CommandResponse} */
export function commandError(message) {
  return { action: "noop", error: message };
}

const ACTIONS = new Set(["prompt", "insert", "display", "open_panel", "noop"]);

/**
 * @param {unknown} result
 * @returns {CommandResponse}
 */
export function toCommandResponse(result) {
  if (result === undefined || result === null) return noop();
  if (typeof result === "string") return display(result);
  const response = /** @type {CommandResponse} */ (result);
  if (ACTIONS.has(response.action)) return response;
  throw new TypeError("a command handler must return prompt(), insert(), display(), openPanel(), noop(), commandError(), a string or nothing");
}

/** @returns {Allow} */
export function allow() {
  return { decision: "allow" };
}

/** @param {string} reason @returns {Block} */
export function block(reason) {
  return { decision: "block", reason };
}

/** @param {JsonObject} args @returns {Modify} */
export function modify(args) {
  return { decision: "modify", args };
}

/** @param {string} text @returns {Replace} */
export function replace(text) {
  return { decision: "replace", text };
}

/**
 * Returns the fields of the response to an intercept.
 * @param {unknown} result
 * @returns {{ block?: boolean, reason?: string, modified_args?: JsonObject, replace_text?: string }}
 */
export function toInterceptAnswer(result) {
  if (result === undefined || result === null) return {};
  const decision = /** @type {Allow | Block | Modify | Replace} */ (result);
  switch (decision.decision) {
    case "allow":
      return {};
    case "block":
      return { block: true, reason: decision.reason };
    case "modify":
      return { modified_args: decision.args };
    case "replace":
      return { replace_text: decision.text };
    default:
      throw new TypeError("an interceptor must return allow(), block(), modify(), replace() or nothing");
  }
}
