/** Checks the options that callers pass: a misspelt one would otherwise be ignored. */
import { ZotError } from "./errors.js";

/** @import { ClientOptions } from "./index.js" */

/** Every option; the type makes sure that none is missing. @type {Record<keyof ClientOptions, true>} */
const CLIENT_OPTIONS = {
  program: true,
  provider: true,
  model: true,
  baseUrl: true,
  apiKey: true,
  cwd: true,
  env: true,
  systemPrompt: true,
  reasoning: true,
  session: true,
  resume: true,
  fork: true,
  jail: true,
  sandbox: true,
  args: true,
  tools: true,
  confirm: true,
  approve: true,
  questions: true,
  mcpConfig: true,
  installedMcp: true,
  projectMcp: true,
  onEvent: true,
  restart: true,
  onRestart: true,
  startTimeoutMs: true,
  callTimeoutMs: true,
  promptTimeoutMs: true,
  abortTimeoutMs: true,
  closeTimeoutMs: true,
  signal: true,
};

/** @param {ClientOptions} options */
export function checkClientOptions(options) {
  const known = Object.keys(CLIENT_OPTIONS);
  const { session, resume, fork, sandbox } = options;
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw unknownOption("Client.start", unknown, ` (expected one of ${known.join(", ")})`);
  if (session !== undefined && resume) throw new ZotError("bad_option", "`session` and `resume` each choose a session: pass one of them");
  if (fork && session === undefined && !resume) throw new ZotError("bad_option", "`fork` needs a session to copy: pass `session` or `resume` too");
  if (typeof sandbox === "object" && sandbox.run?.length === 0) {
    throw new ZotError("bad_option", "`sandbox`: no flag of zot says `run: []`: leave out `run` and call `setSandbox` with it before the first prompt");
  }
}

/** What is left of the options of a call when the known ones were taken out. @param {string} where @param {object} rest */
export function rejectUnknown(where, rest) {
  const unknown = Object.keys(rest);
  if (unknown.length > 0) throw unknownOption(where, unknown, "");
}

/** Whether zot writes the conversation to a session file. @param {ClientOptions} options */
export function keepsSession({ session, resume }) {
  return session !== undefined || Boolean(resume);
}

/** @param {string} where @param {string[]} names @param {string} hint */
function unknownOption(where, names, hint) {
  const quoted = names.map((name) => `"${name}"`).join(", ");
  return new ZotError("bad_option", `${where}: unknown option ${quoted}${hint}`);
}
