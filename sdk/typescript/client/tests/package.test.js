// The package as users install it: on its own, with strict types, and with its documents run.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { cleanUp, skip, temporaryDirectory, zot } from "./support.js";

const project = fileURLToPath(new URL("..", import.meta.url));
const npm = spawnSync("npm", ["--version"], { encoding: "utf8" });
const skipNpm = npm.status === 0 ? false : "npm is not on the PATH";
const DOCUMENTS = ["README.md", "../../../docs/embedding/typescript.md"];

/** @param {string} name */
function locate(name) {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

/** A directory that has the package, and nothing of the repository. */
async function consumer() {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  const install = spawnSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--install-links", project], { cwd: directory, encoding: "utf8" });
  assert.equal(install.status, 0, install.stderr);
  return directory;
}

/** Every program in a document. @param {string} path */
async function programs(path) {
  const document = await readFile(join(project, path), "utf8");
  return [...document.matchAll(/```(?:js|ts)\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
}

describe("the package", { skip: skipNpm }, () => {
  afterEach(cleanUp);

  const compiler = locate("typescript/bin/tsc");
  const nodeTypes = locate("@types/node/package.json");
  const skipTypes = compiler === undefined || nodeTypes === undefined ? "the types are NOT checked: typescript is not installed; run `npm install` in sdk/typescript" : false;

  it("installs on its own, and a strict TypeScript program compiles", { skip: skipTypes }, async () => {
    const directory = await consumer();
    assert.deepEqual((await readdir(join(directory, "node_modules/@zot/client"))).sort(), ["README.md", "package.json", "src"]);
    const types = dirname(nodeTypes ?? "");
    await mkdir(join(directory, "node_modules/@types"));
    await cp(types, join(directory, "node_modules/@types/node"), { recursive: true });
    await symlink(join(types, "../../undici-types"), join(directory, "node_modules/undici-types"));
    await cp(join(project, "tests/types/consumer.ts"), join(directory, "consumer.ts"));
    const flags = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--target", "es2022", "--module", "nodenext", "consumer.ts"];
    const { status, stdout } = spawnSync(process.execPath, [compiler ?? "", ...flags], { cwd: directory, encoding: "utf8" });
    assert.equal(status, 0, stdout);
  });

  it("does what its documents say", { skip }, async () => {
    const directory = await consumer();
    await mkdir(join(directory, "bin"));
    await symlink(zot, join(directory, "bin/zot"));
    await writeFile(join(directory, "notes.txt"), "buy milk\ncall Ada\n");
    const env = { ...process.env, PATH: `${join(directory, "bin")}${delimiter}${process.env.PATH}`, ZOT_HOME: join(directory, "home") };
    for (const document of DOCUMENTS) {
      const found = await programs(document);
      assert.ok(found.length > 0, document);
      for (const [index, program] of found.entries()) {
        // Node 20 does not run TypeScript, so programs in documents are plain JavaScript.
        const file = join(directory, `program-${index}.js`);
        await writeFile(file, program);
        const run = spawnSync(process.execPath, [file], { cwd: directory, env, encoding: "utf8", timeout: 60_000 });
        assert.equal(run.status, 0, `${document}, program ${index + 1}: ${run.stderr}${run.stdout}`);
        for (const [, expected] of program.matchAll(/\/\/ → (.*)/g)) assert.ok(run.stdout.includes(expected ?? ""), `${document}: "${expected}" is not in ${run.stdout}`);
      }
    }
  });
});
