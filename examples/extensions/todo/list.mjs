// The list itself, and its file.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class TodoList {
  #file;
  #entries;
  #selected = 0;

  /** @param {string} file @param {{ text: string, done: boolean }[]} entries */
  constructor(file, entries) {
    this.#file = file;
    this.#entries = entries;
  }

  /** The list in `directory`; an empty one when there is none. @param {string} directory */
  static load(directory) {
    mkdirSync(directory, { recursive: true });
    const file = join(directory, "todo.json");
    try {
      return new TodoList(file, JSON.parse(readFileSync(file, "utf8")));
    } catch (error) {
      // A list that cannot be read must not be overwritten by the next change.
      if (error.code !== "ENOENT") throw error;
      return new TodoList(file, []);
    }
  }

  get open() {
    return this.#entries.filter((entry) => !entry.done).length;
  }

  lines() {
    if (this.#entries.length === 0) return ["nothing to do"];
    return this.#entries.map((entry, index) => {
      const cursor = index === this.#selected ? ">" : " ";
      return `${cursor} [${entry.done ? "x" : " "}] ${entry.text}`;
    });
  }

  add(text) {
    this.#entries.push({ text, done: false });
    this.#selected = this.#entries.length - 1;
    this.#save();
  }

  toggle() {
    const entry = this.#entries[this.#selected];
    if (entry === undefined) return;
    entry.done = !entry.done;
    this.#save();
  }

  remove() {
    this.#entries.splice(this.#selected, 1);
    this.move(0);
    this.#save();
  }

  move(by) {
    const last = Math.max(0, this.#entries.length - 1);
    this.#selected = Math.min(last, Math.max(0, this.#selected + by));
  }

  /** A rename replaces the file as a whole: there is always an old or a new list, never half of one. */
  #save() {
    const next = `${this.#file}.new`;
    writeFileSync(next, `${JSON.stringify(this.#entries, null, 2)}\n`);
    renameSync(next, this.#file);
  }
}
