import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

import { startHost } from "@zot/ext/testing";

const project = fileURLToPath(new URL("..", import.meta.url));
const npm = spawnSync("npm", ["--version"], { encoding: "utf8" });
const skip = npm.status === 0 ? false : "npm is not on the PATH";

/** The first code block of the README after `heading`. @param {string} heading */
async function readmeCode(heading) {
  const readme = await readFile(join(project, "README.md"), "utf8");
  const code = readme.slice(readme.indexOf(heading)).match(/```(?:js|json|ts)\n([\s\S]*?)```/)?.[1];
  assert.ok(code, `the README has code after "${heading}"`);
  return code;
}

for (const flags of [[], ["--install-links"]]) {
  it(`is installed by \`npm install ${[...flags, "./sdk/typescript"].join(" ")}\` without a network, and the README's hello runs`, { skip }, async () => {
    const directory = await mkdtemp(join(tmpdir(), "zot-ext-install-"));
    try {
      await writeFile(join(directory, "package.json"), '{ "type": "module" }');
      const install = spawnSync("npm", ["install", "--offline", "--no-audit", "--no-fund", ...flags, project], { cwd: directory, encoding: "utf8" });
      assert.equal(install.status, 0, install.stderr);
      await writeFile(join(directory, "extension.json"), await readmeCode("`extension.json`"));
      await writeFile(join(directory, "hello.js"), await readmeCode("`hello.js`"));
      const host = await startHost(directory);
      const answer = await host.invoke("hello");
      assert.deepEqual([answer.action, "prompt" in answer && answer.prompt], ["prompt", "Greet me in one short sentence."]);
      assert.equal((await host.callTool("weather", { city: "Berlin" })).text, "Berlin: sunny");
      assert.equal((await host.shutdown()).code, 0);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
}
