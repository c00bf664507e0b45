// Node 22 and newer take `node --test DIRECTORY` for this file; older ones look for *.test.js themselves.
import { readdirSync } from "node:fs";

const directory = new URL(".", import.meta.url);
for (const name of readdirSync(directory)) {
  if (name.endsWith(".test.js")) await import(new URL(name, directory).href);
}
