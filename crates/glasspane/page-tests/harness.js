// A real server, real agents on its socket, a real browser.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));
const START_TIME = 20_000;

export const browserPath = process.env.CHROMIUM
  ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
export const programPath = process.env.GLASSPANE ?? join(REPOSITORY, 'target/debug/glasspane');

/** Why the tests cannot run here; empty if they can. */
export function missingRequirement() {
  if (!browserPath) return 'no chromium: install it, or name one in CHROMIUM';
  if (!existsSync(programPath)) return `no ${programPath}: build it, or name one in GLASSPANE`;
  return '';
}

export function launchBrowser() {
  return chromium.launch({
    executablePath: browserPath,
    args: ['--no-sandbox', '--headless=new', '--disable-gpu', '--force-color-profile=srgb', '--font-render-hinting=none'],
  });
}

/** `glasspane serve` with its own socket. */
export class Server {
  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'glasspane-page-'));
    this.socket = join(this.directory, 'agents.sock');
    this.listen = '127.0.0.1:0';
    this.agents = [];
  }

  static async start(...flags) {
    const server = new Server();
    await server.start(...flags);
    return server;
  }

  /** Starts the process; after `stop`, on the same port, which another program may hold for a moment. */
  async start(...flags) {
    const deadline = Date.now() + START_TIME;
    for (;;) {
      try {
        await this.launch(flags);
        break;
      } catch (error) {
        if (!/in use/.test(error.message) || Date.now() > deadline) throw error;
        await new Promise((resolve) => { setTimeout(resolve, 100); });
      }
    }
    // The same port after a restart, so that the page can reconnect.
    this.listen = new URL(this.url).host;
  }

  async launch(flags) {
    const args = ['serve', '--listen', this.listen, '--socket', this.socket, '--token-file', join(this.directory, 'token'), ...flags];
    this.process = spawn(programPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.ended = new Promise((resolve) => { this.process.once('exit', resolve); });
    let errors = '';
    this.process.stderr.on('data', (data) => { errors += data; });
    const lines = createInterface({ input: this.process.stdout });
    this.url = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`glasspane did not start: ${errors}`)), START_TIME);
      const settle = (done, value) => {
        clearTimeout(timer);
        done(value);
      };
      lines.once('line', (line) => settle(resolve, line));
      this.process.once('close', () => settle(reject, new Error(`glasspane ended: ${errors}`)));
    });
  }

  /** Ends the process; its agents lose their connections. */
  async stop(signal = 'SIGTERM') {
    this.process.kill(signal);
    await this.ended;
    this.agents = [];
  }

  async close() {
    for (const agent of this.agents) agent.end();
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async agent(label, about = {}) {
    const agent = await Agent.connect(this.socket, label, about);
    this.agents.push(agent);
    return agent;
  }

  async snapshot() {
    const url = new URL(this.url);
    url.pathname = '/snapshot';
    return (await fetch(url)).json();
  }
}

/** A proxy to the server that can be disconnected. */
export class Wire {
  static async to(url) {
    const wire = new Wire();
    const { port, hostname } = new URL(url);
    wire.ends = new Set();
    wire.isCut = false;
    wire.server = createServer((near) => {
      if (wire.isCut) {
        near.destroy();
        return;
      }
      const far = createConnection(Number(port), hostname);
      for (const [end, other] of [[near, far], [far, near]]) {
        wire.ends.add(end);
        end.on('error', () => {});
        end.on('close', () => {
          wire.ends.delete(end);
          other.destroy();
        });
        end.pipe(other);
      }
    });
    await new Promise((resolve) => { wire.server.listen(0, '127.0.0.1', resolve); });
    wire.url = url.replace(`:${port}/`, `:${wire.server.address().port}/`);
    return wire;
  }

  cut() {
    this.isCut = true;
    for (const end of this.ends) end.destroy();
  }

  reconnect() {
    this.isCut = false;
  }

  close() {
    this.cut();
    this.server.close();
  }
}

/** One agent that sends what zot would print. */
export class Agent {
  static connect(socket, label, about = {}) {
    return new Promise((resolve, reject) => {
      const connection = createConnection(socket);
      connection.once('error', reject);
      connection.once('connect', () => {
        connection.removeAllListeners('error');
        // The server may be killed while we write.
        connection.on('error', () => {});
        const agent = new Agent(connection);
        agent.send({ glasspane: 'attach', label, source: 'zot', ...about });
        resolve(agent);
      });
    });
  }

  constructor(connection) {
    this.connection = connection;
    this.step = 0;
    this.calls = 0;
    this.used = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };
  }

  send(...events) {
    if (this.connection.writable) this.connection.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  }

  prompt(text) {
    this.step = 0;
    this.send({ type: 'user_message', content: [{ type: 'text', text }] });
  }

  turn() {
    this.step += 1;
    this.send({ type: 'turn_start', step: this.step }, { type: 'assistant_start' });
  }

  write(delta) {
    this.send({ type: 'text_delta', delta });
  }

  /** A tool call; its arguments, if any, in deltas as a model writes them. */
  tool(name, args) {
    this.calls += 1;
    this.call = `call_${this.calls}`;
    const text = args === undefined ? '' : JSON.stringify(args);
    const pieces = text.match(/[^]{1,16}/gu) ?? [];
    this.send(
      { type: 'tool_use_start', id: this.call, name },
      ...pieces.map((delta) => ({ type: 'tool_use_args', id: this.call, delta })),
      { type: 'tool_use_end', id: this.call },
    );
  }

  confirm(name, args, preview = `${name} wants to run`) {
    this.send({ type: 'tool_confirm', id: this.call, name, args, preview });
  }

  result(text, isError = false) {
    this.send({ type: 'tool_result', id: this.call, is_error: isError, content: [{ type: 'text', text }] });
  }

  usage(input, output, cacheRead, cost) {
    const used = this.used;
    used.input += input;
    used.output += output;
    used.cache_read += cacheRead;
    used.cost_usd += cost;
    this.send({ type: 'usage', input, output, cache_read: cacheRead, cache_write: 0, cost_usd: cost, cumulative: { ...used } });
  }

  turnEnd(stop = 'end') {
    this.send({ type: 'turn_end', stop });
  }

  done() {
    this.send({ type: 'done' });
  }

  fail(message) {
    this.send({ type: 'turn_end', stop: 'error', error: message }, { type: 'error', message }, { type: 'done' });
  }

  end() {
    this.connection.end();
  }
}

/** A page that fails the test if it reports an error. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // The browser reports refused connections itself; the page is meant to survive those.
    if (message.type() === 'error' && !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|status of 403/.test(message.text())) problems.push(message.text());
  });
  const foreign = [];
  page.on('request', (request) => {
    if (new URL(request.url()).host !== new URL(url).host) foreign.push(request.url());
  });
  await page.goto(url);
  return { page, context, problems, foreign };
}
