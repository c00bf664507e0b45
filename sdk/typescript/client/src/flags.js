/** Converts the options of a client to a command line. */
import { resolve } from "node:path";

import { bundledProgram } from "./bundled.js";
import { sandboxOf } from "./options.js";

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
  const sandbox = options.sandbox === undefined ? undefined : sandboxOf("sandbox", options.sandbox);
  add("--sandbox", sandbox?.level);
  for (const path of sandbox?.read ?? []) add("--sandbox-read", path);
  for (const path of sandbox?.write ?? []) add("--sandbox-write", path);
  for (const path of sandbox?.run ?? []) add("--sandbox-run", path);
  for (const host of sandbox?.connect ?? []) add("--sandbox-connect", host);
  for (const path of sandbox?.unixSockets ?? []) add("--sandbox-unix-socket", path);
  for (const name of sandbox?.environment ?? []) add("--sandbox-env", name);
  /** @param {string} flag @param {number | undefined} limit */
  const addLimit = (flag, limit) => add(flag, limit ? `${limit}` : undefined);
  addLimit("--sandbox-memory-mib", sandbox?.memoryMib);
  addLimit("--sandbox-processes", sandbox?.processes);
  addLimit("--sandbox-processor-seconds", sandbox?.processorSeconds);
  addLimit("--sandbox-open-files", sandbox?.openFiles);
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
