// Node 22 and newer take `node --test FOLDER` for this file; older ones look for *.test.js themselves.
import { readdirSync } from "node:fs";

const folder = new URL(".", import.meta.url);
for (const name of readdirSync(folder)) {
  if (name.endsWith(".test.js")) await import(new URL(name, folder).href);
}
