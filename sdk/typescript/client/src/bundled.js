/** The zot that the npm package `zot-agent` brings for this platform. */
import { createRequire } from "node:module";

/** Its path; undefined when it was not installed. */
export function bundledProgram() {
  try {
    return createRequire(import.meta.url).resolve(`@zot/${process.platform}-${process.arch}/bin/zot`);
  } catch {
    return undefined;
  }
}
