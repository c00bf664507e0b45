/** Checks the options that callers pass: a misspelt one would otherwise be ignored. */
import { ZotError } from "./errors.js";

/** @import { ClientOptions, SandboxOptions } from "./index.js" */

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

/** Every rule of a sandbox, and what it takes. @type {Record<Exclude<keyof SandboxOptions, "level">, "list" | "limit">} */
const SANDBOX_RULES = {
  read: "list",
  write: "list",
  run: "list",
  connect: "list",
  unixSockets: "list",
  environment: "list",
  memoryMib: "limit",
  processes: "limit",
  processorSeconds: "limit",
  openFiles: "limit",
};

/** @param {ClientOptions} options */
export function checkClientOptions(options) {
  const known = Object.keys(CLIENT_OPTIONS);
  const { session, resume, fork, sandbox } = options;
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw unknownOption("Client.start", unknown, ` (expected one of ${known.join(", ")})`);
  if (session !== undefined && resume) throw new ZotError("bad_option", "`session` and `resume` each choose a session: pass one of them");
  if (fork && session === undefined && !resume) throw new ZotError("bad_option", "`fork` needs a session to copy: pass `session` or `resume` too");
  if (sandbox !== undefined && sandboxOf("sandbox", sandbox).run?.length === 0) {
    throw new ZotError("bad_option", "`sandbox`: no flag of zot says `run: []`: leave out `run` and call `setSandbox` with it before the first prompt");
  }
}

/**
 * Returns a sandbox as an object. Whatever is wrong with it is an error, because a misspelt restriction would restrict nothing.
 * @param {string} where @param {NonNullable<ClientOptions["sandbox"]>} sandbox @returns {SandboxOptions}
 */
export function sandboxOf(where, sandbox) {
  if (typeof sandbox === "string") return { level: sandbox };
  if (typeof sandbox !== "object" || typeof sandbox?.level !== "string") {
    throw new ZotError("bad_option", `${where}: expected "off", "workspace", "read-only" or an object with such a \`level\``);
  }
  const { level: _, ...rules } = sandbox;
  const known = Object.keys(SANDBOX_RULES);
  const unknown = Object.keys(rules).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw unknownOption(where, unknown, ` (expected level, ${known.join(", ")})`);
  for (const [name, kind] of Object.entries(SANDBOX_RULES)) {
    const value = /** @type {Record<string, unknown>} */ (rules)[name];
    if (value === undefined) continue;
    if (kind === "list" && !(Array.isArray(value) && value.every((entry) => typeof entry === "string"))) {
      throw new ZotError("bad_option", `${where}: \`${name}\` takes an array of strings`);
    }
    if (kind === "limit" && !(Number.isInteger(value) && Number(value) >= 0)) {
      throw new ZotError("bad_option", `${where}: \`${name}\` takes a whole number; 0 means no limit`);
    }
  }
  return sandbox;
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
