#!/usr/bin/env node
// @ts-check
// {{name}}: an extension of zot. console.log writes to its log: `zot ext logs {{name}}`.
import { display, Extension } from "#zot-ext";

const ext = new Extension("{{name}}", "0.1.0");

// prompt, insert, openPanel and noop do other things than display.
ext.command("{{word}}", "say hello", (args) => display(`Hello, ${args || "world"}!`));

ext.tool(
  "{{word}}_greet",
  {
    description: "Greets someone by name.",
    parameters: {
      type: "object",
      properties: { name: { type: "string", description: "whom to greet" } },
      required: ["name"],
    },
  },
  ({ name }) => `Hello, ${name}!`, // name is a string: the type follows from the schema
);

await ext.run();
