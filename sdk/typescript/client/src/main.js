/** The exports of `@zot/client`. Their types are in index.d.ts; tests/types/drift.ts compares the two. */

export { Client } from "./client.js";
export { ZotError } from "./errors.js";
export { image, text, toolError } from "./ext/content.js";
export { tool } from "./tools.js";
