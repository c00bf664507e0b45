// Many simulated agents, the same in every run.

import { Agent } from './harness.js';

const NAMES = ['refactor parser', 'fix flaky test', 'write docs', 'review change', 'port to macOS', 'trace memory leak',
  'update schema', 'bench startup', 'audit licences', 'translate help', 'triage issues', 'tidy imports'];
const TOOLS = ['bash', 'read', 'edit', 'write', 'grep', 'web_search'];
const ARGUMENTS = {
  bash: { command: 'cargo test -p parser -- --nocapture', timeout: 120 },
  read: { path: 'src/lexer.rs' },
  edit: { path: 'src/lexer.rs', edits: [{ oldText: 'self.next()', newText: 'self.peek()' }] },
  write: { path: 'tests/lookahead.rs', content: '#[test]\nfn one_token() {}\n' },
  grep: { pattern: 'fn peek', path: 'src' },
  web_search: { query: 'rust peekable iterator' },
};
const MODELS = ['claude-opus-4', 'gpt-5-mini', 'gemini-3-pro', 'deepseek-v4', 'offline'];
const TEXTS = [
  'The parser keeps one token of lookahead, so the error can name what it expected instead of what it saw. I will read the lexer first.',
  'The test fails when the clock is read twice: once for the deadline and once for the message. Reading it once makes both agree.',
  'Two call sites still pass the old order of arguments. I change them together with the signature, then run the suite again.',
  'Nothing else depends on this. The change is four lines, and the new test fails without it.',
  'The leak is not in the cache: every reconnect keeps a clone of the sender alive. Dropping it in the reader ends the task as well.',
  'Startup spends 11 of 14 ms on loading certificates that this command never uses. They can wait until the first request.',
].map((text) => text.split(/(?<= )/));
const COMMANDS = ['cargo test -p parser', '3 files changed, 41 insertions(+), 12 deletions(-)', 'src/lexer.rs:88: let next = self.peek()?;', 'test result: ok. 212 passed; 0 failed'];
const ERRORS = ['anthropic: http 529: overloaded', 'context overflow: 214,003 of 200,000 tokens', 'connection closed by peer'];

/** A small random generator with a fixed seed, so that every run is the same. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export class Fleet {
  /** Connects `count` agents to the socket. */
  static async connect(socket, count, seed = 7) {
    const chance = random(seed);
    const pick = (list) => list[Math.floor(chance() * list.length)];
    const workers = [];
    for (let index = 0; index < count; index += 1) {
      const label = `${NAMES[index % NAMES.length]}${count > NAMES.length ? ` ${Math.floor(index / NAMES.length) + 1}` : ''}`;
      const agent = await Agent.connect(socket, label, { model: pick(MODELS), cwd: `/work/${label.split(' ')[0]}` });
      workers.push({ agent, phase: 'new', left: 0, chance, pick });
    }
    return new Fleet(workers);
  }

  constructor(workers) {
    this.workers = workers;
    this.next = 0;
    this.sent = 0;
  }

  /** Lets this many agents, one after the other, take their next step. */
  step(count) {
    for (let done = 0; done < count; done += 1) {
      advance(this.workers[this.next]);
      this.next = (this.next + 1) % this.workers.length;
      this.sent += 1;
    }
  }

  /** Steps at `rate` a second until stopped. */
  run(rate) {
    const started = performance.now();
    let done = 0;
    this.timer = setInterval(() => {
      const due = Math.floor(((performance.now() - started) / 1000) * rate);
      this.step(Math.min(due - done, rate));
      done = due;
    }, 20);
    // Must not keep a failed test running.
    this.timer.unref();
  }

  end() {
    clearInterval(this.timer);
    for (const { agent } of this.workers) agent.end();
  }
}

function advance(worker) {
  const { agent, chance, pick } = worker;
  const enter = (phase, left) => {
    worker.phase = phase;
    worker.left = left;
  };
  switch (worker.phase) {
    case 'new':
      agent.prompt(`please ${pick(NAMES)}`);
      agent.turn();
      enter('thinking', 2 + Math.floor(chance() * 5));
      break;
    case 'thinking':
      if ((worker.left -= 1) > 0) break;
      worker.text = pick(TEXTS);
      enter('writing', worker.text.length);
      break;
    case 'writing':
      agent.write(worker.text[worker.text.length - worker.left]);
      if ((worker.left -= 1) > 0) break;
      agent.send({ type: 'assistant_message', content: [{ type: 'text', text: worker.text.join('') }] });
      if (chance() < 0.82) {
        worker.tool = pick(TOOLS);
        const args = ARGUMENTS[worker.tool];
        agent.tool(worker.tool, args);
        enter('tool', 4 + Math.floor(chance() * 24));
        if (chance() < 0.12) {
          agent.confirm(worker.tool, args, Object.values(args)[0]);
          enter('waiting', 20 + Math.floor(chance() * 30));
        }
      } else {
        spend(worker);
        if (chance() < 0.2) {
          agent.fail(pick(ERRORS));
        } else {
          agent.turnEnd();
          agent.done();
        }
        enter('resting', 30 + Math.floor(chance() * 60));
      }
      break;
    case 'waiting':
      if ((worker.left -= 1) <= 0) enter('tool', 8);
      break;
    case 'tool':
      if (worker.left % 4 === 0) agent.send({ type: 'tool_progress', id: agent.call, text: `${pick(COMMANDS)}\n` });
      if ((worker.left -= 1) > 0) break;
      // The turn ends before the result arrives, as in zot.
      agent.turnEnd('tool_use');
      agent.result(pick(COMMANDS), chance() < 0.08);
      spend(worker);
      agent.turn();
      enter('thinking', 1 + Math.floor(chance() * 6));
      break;
    case 'resting':
      if ((worker.left -= 1) <= 0) enter('new', 0);
      break;
  }
}

function spend({ agent, chance }) {
  const input = 400 + Math.floor(chance() * 2600);
  const output = 80 + Math.floor(chance() * 700);
  const cached = Math.floor(chance() * 12_000);
  agent.usage(input, output, cached, input * 3e-6 + output * 15e-6 + cached * 3e-7);
}
