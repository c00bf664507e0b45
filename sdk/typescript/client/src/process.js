/** The program itself: started, read line by line, ended. Knows lines, not what they mean. */
import { spawn } from "node:child_process";

import { messageOf, ZotError } from "./errors.js";
import { encodeLine, LineReader, MAX_FRAME_BYTES } from "./ext/lines.js";

/** A line of zot's output has no limit in the protocol; this one keeps a program that is not zot from filling the memory. */
const MAX_OUTPUT_LINE_BYTES = 256 * 1024 * 1024;
/** What is kept of standard error, from its end, for the messages of errors. */
const MAX_STDERR_CHARACTERS = 16 * 1024;
/** How long output is waited for after the exit: somebody else may still hold the pipe. */
const LAST_OUTPUT_MS = 500;
/** Between a signal and the next, stronger one. */
const SIGNAL_PATIENCE_MS = 2_000;

/** @typedef {{ type: string, [field: string]: unknown }} Frame */

export class ZotProcess {
  #child;
  #stderr = "";
  #hasExited = false;
  /** @type {ZotError | undefined} */
  #failure;

  /**
   * @param {string} program
   * @param {readonly string[]} args
   * @param {NodeJS.ProcessEnv} env
   * @param {(frame: Frame) => void} onFrame
   */
  constructor(program, args, env, onFrame) {
    this.program = program;
    // A session of its own: the terminal's Ctrl-C shall reach this process only. The end of its input ends zot.
    this.#child = spawn(program, args, { env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    const { stdin, stdout, stderr } = this.#child;
    const reader = new LineReader(
      (value) => {
        const frame = /** @type {Frame} */ (value);
        // Nothing counts behind a line that was no frame.
        if (this.#failure !== undefined) return;
        if (typeof value === "object" && value !== null && typeof frame.type === "string") onFrame(frame);
        else this.#violation(`it wrote a line that is no frame: ${excerpt(JSON.stringify(value))}`);
      },
      (reason, line) => this.#violation(`it wrote a line that is no frame (${reason}): ${excerpt(line)}`),
      MAX_OUTPUT_LINE_BYTES,
    );
    stdout.on("data", (chunk) => reader.push(chunk));
    // A last line without LF is one that was cut off: the exit says by what.
    stdout.on("error", () => {});
    stderr.setEncoding("utf8").on("data", (text) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARACTERS);
    });
    stderr.on("error", () => {});
    // A broken pipe: the exit says what there is to say.
    stdin.on("error", () => {});
    /** Why it ended; always a ZotError, also after an end in good order. @type {Promise<ZotError>} */
    this.ended = new Promise((resolve) => {
      this.#child.on("error", (error) => resolve(this.#cannotStart(error)));
      this.#child.on("exit", (code, signal) => {
        this.#hasExited = true;
        const finish = () => resolve(this.#failure ?? this.#describe(code, signal));
        const timer = setTimeout(finish, LAST_OUTPUT_MS);
        this.#child.on("close", () => {
          clearTimeout(timer);
          finish();
        });
        stdout.resume();
      });
    });
  }

  get pid() {
    return this.#child.pid;
  }

  get stderr() {
    return this.#stderr;
  }

  /** @param {object} frame */
  write(frame) {
    const line = encodeLine(frame);
    // A UTF-16 unit has at most three bytes in UTF-8: only long lines need counting.
    if (line.length * 3 > MAX_FRAME_BYTES && Buffer.byteLength(line) - 1 > MAX_FRAME_BYTES) {
      // zot could not say whose line it was.
      throw new ZotError("line_too_long", `the command has ${Buffer.byteLength(line) - 1} bytes, zot takes ${MAX_FRAME_BYTES}`);
    }
    if (this.#child.stdin.writable) this.#child.stdin.write(line);
  }

  /** @param {boolean} paused */
  setPaused(paused) {
    const { stdout } = this.#child;
    if (paused && !this.#hasExited) stdout.pause();
    else if (stdout.isPaused()) stdout.resume();
  }

  /** Asks it to end, and makes it after a while. @param {number} patienceMs */
  async end(patienceMs) {
    this.#child.stdin.end();
    if (await this.#endsWithin(patienceMs)) return;
    this.#child.kill("SIGTERM");
    if (await this.#endsWithin(SIGNAL_PATIENCE_MS)) return;
    this.kill();
    await this.ended;
  }

  kill() {
    this.#child.kill("SIGKILL");
  }

  /** @param {number} milliseconds */
  async #endsWithin(milliseconds) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve(undefined), milliseconds);
    });
    const ended = await Promise.race([this.ended, late]);
    clearTimeout(timer);
    return ended !== undefined;
  }

  /** @param {string} what */
  #violation(what) {
    if (this.#failure !== undefined) return;
    this.#failure = new ZotError("protocol", `${this.program} does not speak the protocol of zot rpc: ${what}`, { stderr: this.#stderr });
    this.kill();
  }

  /** @param {Error & { code?: string }} error */
  #cannotStart(error) {
    const hint = error.code === "ENOENT" ? "no such program; install zot, or name it with the option `program`" : messageOf(error);
    return new ZotError("not_started", `cannot start ${this.program}: ${hint}`, { cause: error });
  }

  /** @param {number | null} code @param {NodeJS.Signals | null} signal */
  #describe(code, signal) {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const words = this.#stderr.trim();
    return new ZotError("crashed", `zot ended ${how}${words === "" ? "" : `: ${words}`}`, { stderr: this.#stderr });
  }
}

/** @param {string} line */
function excerpt(line) {
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
