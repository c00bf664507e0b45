#!/usr/bin/env node
// Starts the program of the platform package, which npm installs as an optional dependency.
import { spawn } from "node:child_process";

import { bundledProgram } from "../client/bundled.js";

const program = bundledProgram();
if (program === undefined) {
  console.error(`zot: the package @zot/${process.platform}-${process.arch} is missing: install zot-agent without --omit=optional, or build zot from source`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C reaches both processes: zot decides what it means.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`zot: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
