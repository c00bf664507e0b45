/** The zot process: its start, its lines, its end. It knows lines, not their meaning. */
import { spawn } from "node:child_process";

import { messageOf, ZotError } from "./errors.js";
import { encodeLine, LineReader, MAX_FRAME_BYTES } from "./ext/lines.js";

/** The protocol does not limit zot's lines; this limit stops a program that is not zot from filling memory. */
const MAX_OUTPUT_LINE_BYTES = 256 * 1024 * 1024;
/** How much of the end of standard error is kept for error messages. */
const MAX_STDERR_CHARACTERS = 16 * 1024;
/** How long to wait for output after the exit: another process may still hold the pipe. */
const LAST_OUTPUT_MS = 500;
/** The time between a signal and the next, stronger one. */
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
    // In a session of its own, so that Ctrl-C in the terminal reaches this process only. Closing its input ends zot.
    this.#child = spawn(program, args, { env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    const { stdin, stdout, stderr } = this.#child;
    const reader = new LineReader(
      (value) => {
        const frame = /** @type {Frame} */ (value);
        // Everything after an invalid line is ignored.
        if (this.#failure !== undefined) return;
        if (typeof value === "object" && value !== null && typeof frame.type === "string") onFrame(frame);
        else this.#violation(`it wrote a line that is not a frame: ${excerpt(JSON.stringify(value))}`);
      },
      (reason, line) => this.#violation(`it wrote a line that is not a frame (${reason}): ${excerpt(line)}`),
      MAX_OUTPUT_LINE_BYTES,
    );
    stdout.on("data", (chunk) => reader.push(chunk));
    // A last line without LF was cut off; the exit status says why.
    stdout.on("error", () => {});
    stderr.setEncoding("utf8").on("data", (text) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARACTERS);
    });
    stderr.on("error", () => {});
    // A broken pipe: the exit status says why.
    stdin.on("error", () => {});
    /** Why it ended: always a ZotError, even after a regular end. @type {Promise<ZotError>} */
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
    // A UTF-16 unit takes at most three bytes in UTF-8, so only long lines need counting.
    if (line.length * 3 > MAX_FRAME_BYTES && Buffer.byteLength(line) - 1 > MAX_FRAME_BYTES) {
      // zot's error could not name the command.
      throw new ZotError("line_too_long", `the command has ${Buffer.byteLength(line) - 1} bytes; the limit is ${MAX_FRAME_BYTES}`);
    }
    if (this.#child.stdin.writable) this.#child.stdin.write(line);
  }

  /** @param {boolean} paused */
  setPaused(paused) {
    const { stdout } = this.#child;
    if (paused && !this.#hasExited) stdout.pause();
    else if (stdout.isPaused()) stdout.resume();
  }

  /** Closes its input, then signals it until it ends. @param {number} patienceMs */
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
    this.#failure = new ZotError("protocol", `${this.program} does not follow the protocol of zot rpc: ${what}`, { stderr: this.#stderr });
    this.kill();
  }

  /** @param {Error & { code?: string }} error */
  #cannotStart(error) {
    const hint = error.code === "ENOENT" ? "no such program; install zot, or pass its path as the option `program`" : messageOf(error);
    return new ZotError("not_started", `cannot start ${this.program}: ${hint}`, { cause: error });
  }

  /** @param {number | null} code @param {NodeJS.Signals | null} signal */
  #describe(code, signal) {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const stderr = this.#stderr.trim();
    return new ZotError("crashed", `zot ended ${how}${stderr === "" ? "" : `: ${stderr}`}`, { stderr: this.#stderr });
  }
}

/** @param {string} line */
function excerpt(line) {
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
