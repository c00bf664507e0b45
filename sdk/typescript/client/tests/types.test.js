import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("..", import.meta.url));

/** @param {string} name */
function locate(name) {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

const compiler = locate("typescript/bin/tsc");
const missing = compiler === undefined || locate("@types/node/package.json") === undefined;
const skip = missing ? "the types are NOT checked: typescript is not installed; run `npm install` in sdk/typescript" : false;

it("declares what it does: tsc finds nothing wrong", { skip }, () => {
  const { status, stdout } = spawnSync(process.execPath, [/** @type {string} */ (compiler), "--project", project], { encoding: "utf8" });
  assert.equal(status, 0, stdout);
});
