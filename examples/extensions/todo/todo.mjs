// A panel with state that survives a restart, with the TypeScript SDK.
// Run from a clone; an installed extension would write: import { … } from "@zot/ext";
import { commandError, Extension, openPanel } from "../../../sdk/typescript/src/main.js";
import { TodoList } from "./list.mjs";

const PANEL = "todo";
const ext = new Extension("todo", "1.0.0");
/** @type {TodoList} */
let list;
/** The new entry while it is typed; undefined otherwise. */
let typed;

const panel = () => ({
  id: PANEL,
  title: `To do (${list.open} open)`,
  lines: typed === undefined ? list.lines() : [...list.lines(), `+ ${typed}_`],
  footer: typed === undefined ? "a add · space toggle · d delete · esc close" : "enter keep · esc forget",
});

ext.onStart(() => {
  list = TodoList.load(ext.dataDir);
});

ext.command("todo", "show what is to do; with text, add it", (text) => {
  if (text.length > 200) return commandError("keep it under 200 characters");
  if (text !== "") list.add(text);
  return openPanel(panel());
});

/** Keys while an entry is typed. */
function edit(key, text) {
  if (key === "enter") {
    if (typed.trim() !== "") list.add(typed.trim());
    typed = undefined;
  } else if (key === "backspace") typed = [...typed].slice(0, -1).join("");
  else if (text) typed += text;
}

ext.onPanelKey(PANEL, (key, { text }) => {
  // A key that writes something is known by what it writes. Esc closes the panel.
  const pressed = key === "rune" ? text : key;
  if (typed !== undefined) edit(key, text);
  else if (pressed === "up") list.move(-1);
  else if (pressed === "down") list.move(1);
  else if (pressed === "a") typed = "";
  else if (pressed === " " || pressed === "enter") list.toggle();
  else if (pressed === "d" || pressed === "delete") list.remove();
  ext.renderPanel(panel());
});

ext.onPanelClose(PANEL, () => {
  typed = undefined;
});

await ext.run();
