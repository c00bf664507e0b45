/** The exports of `@zot/ext`. Their types are in index.d.ts; tests/types/drift.ts compares the two. */

export { Extension } from "./extension.js";
export { image, text, toolError } from "./content.js";
export { allow, block, commandError, display, insert, modify, noop, openPanel, prompt, replace } from "./responses.js";
