/** Converts the options of a client to a command line. */
import { resolve } from "node:path";

import { bundledProgram } from "./bundled.js";

/** @import { ClientOptions } from "./index.js" */

/**
 * @param {ClientOptions} options
 * @param {string | undefined} toolDirectory
 */
export function commandLine(options, toolDirectory) {
  const args = ["rpc"];
  /** @param {string} flag @param {string | undefined} value */
  const add = (flag, value) => value !== undefined && args.push(flag, value);
  add("--provider", options.provider);
  add("--model", options.model);
  add("--base-url", options.baseUrl);
  add("--api-key", options.apiKey);
  add("--cwd", options.cwd === undefined ? undefined : resolve(options.cwd));
  add("--system-prompt", options.systemPrompt);
  add("--reasoning", options.reasoning);
  add("--session", options.session === undefined ? undefined : resolve(options.session));
  if (options.resume === true) args.push("--continue");
  else if (options.resume) args.push("--resume", options.resume);
  if (options.fork) args.push("--fork");
  if (options.jail) args.push("--jail");
  add("--ext", toolDirectory);
  for (const path of options.mcpConfig ?? []) add("--mcp-config", resolve(path));
  if (options.installedMcp === false) args.push("--no-mcp");
  if (options.projectMcp) args.push("--project-mcp");
  const confirm = options.confirm ?? options.approve !== undefined;
  if (Array.isArray(confirm)) args.push(`--confirm=${confirm.join(",")}`);
  else if (confirm) args.push("--confirm");
  return { program: options.program ?? bundledProgram() ?? "zot", args: [...args, ...(options.args ?? [])], env: environment(options.env) };
}

/** Returns the environment of this process with changes; undefined removes a variable. @param {ClientOptions["env"]} changes */
function environment(changes = {}) {
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
  return env;
}
