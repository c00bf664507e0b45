// Running tools, approvals, the order of agents, and searches.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toLog } from '../recording.js';
import { card, names, pageTest, until } from './setup.js';

const order = (page, expected) => until(async () => String(await names(page)) === String(expected), `${expected}`);
const filter = (page, words) => page.getByLabel('Filter by text').fill(words);

pageTest('shows the arguments of a running tool', async ({ server, open }) => {
  const page = await open();
  const agent = await server.agent('builder');
  agent.turn();
  const shown = card(page, 'builder');
  const doing = shown.locator('.doing');
  agent.tool('bash', { timeout: 60, command: 'cargo test -p parser\n  --quiet' });
  await shown.getByText('running bash').waitFor();
  await until(async () => (await doing.textContent()) === 'cargo test -p parser --quiet  timeout=60', 'the command comes first');
  const [height, line] = await doing.evaluate((one) => [one.getBoundingClientRect().height, parseFloat(getComputedStyle(one).lineHeight)]);
  assert.ok(height < line * 1.5, `one line: ${height} of ${line}`);

  await shown.click();
  const detail = page.getByRole('complementary', { name: 'builder' });
  const running = detail.locator('section', { has: page.getByRole('heading', { name: 'Running' }) });
  await running.getByText('bash', { exact: true }).waitFor();
  assert.deepEqual(await running.locator('dt').allTextContents(), ['timeout', 'command']);
  assert.deepEqual(await running.locator('dd').allTextContents(), ['60', 'cargo test -p parser\n  --quiet'], 'complete and unchanged');
  agent.result('ok');
  await running.waitFor({ state: 'hidden' });
  assert.equal(await doing.isVisible(), false);

  agent.tool('edit', { content: 'x'.repeat(30_000), path: 'src/main.rs' });
  // The complete arguments replace their beginning.
  agent.send({ type: 'tool_call', id: agent.call, name: 'edit', args: { content: 'x'.repeat(30_000), path: 'src/main.rs' } });
  await until(async () => (await doing.textContent()).startsWith('src/main.rs  content=xxx'), 'the path comes first');
  assert.ok((await doing.textContent()).length < 300);
  await running.getByText('this is their beginning').waitFor();
  assert.ok((await running.textContent()).length < 10_000);
  agent.tool('read', { path: 'notes.txt' });
  await shown.getByText('running read and 1 more').waitFor();
  assert.equal(await running.locator('li').count(), 2);
});

pageTest('a page opened later and a replay show running tools', async ({ server, open }) => {
  const agent = await server.agent('builder');
  agent.turn();
  agent.tool('bash', { command: 'cargo build' });
  agent.result('Compiling');
  agent.tool('grep', { pattern: 'fn main', path: 'src' });
  await until(async () => (await server.snapshot()).agents[0]?.tools === 2, 'the server has it');
  const page = await open();
  await until(async () => (await card(page, 'builder').locator('.doing').textContent()) === 'fn main  path=src', 'the running call');
  // The previous call is over, but can be found.
  await filter(page, 'cargo compiling');
  await page.getByText('1 of 1', { exact: true }).waitFor();
  await filter(page, 'nothing');
  await page.getByRole('heading', { name: 'No agent matches the filters' }).waitFor();
  await filter(page, '');

  const path = join(server.directory, 'log.jsonl');
  const event = (seq, more) => ({ seq, at_ms: 1_790_000_000_000 + seq * 1000, agent: 'a1', event: more });
  writeFileSync(path, toLog([
    event(1, { type: 'turn_start', step: 1 }),
    event(2, { type: 'tool_execution_start', tool_id: 'c1', tool_name: 'bash' }),
    event(3, { type: 'tool_execution_update', tool_id: 'c1', arguments: true, whole: true, text: '{"command":"make"}' }),
    event(4, { type: 'approval_request', tool_id: 'c1', tool_name: 'bash' }),
  ]));
  await page.locator('#log-file').setInputFiles(path);
  await page.locator('#replay-position').fill('1000');
  await card(page, 'a1').getByText('waiting for approval: bash').waitFor();
  await card(page, 'a1').getByText('make', { exact: true }).waitFor();
});

pageTest('shows pending approvals and how long they have waited', async ({ server, open }) => {
  const page = await open();
  const agent = await server.agent('builder');
  agent.turn();
  agent.tool('bash', { command: 'rm -r build' });
  agent.confirm('bash', { command: 'rm -r build' }, 'rm -r build');
  const shown = card(page, 'builder');
  await shown.getByText('waiting for approval: bash').waitFor();
  await shown.getByText('rm -r build', { exact: true }).waitFor();
  await page.locator('#announce', { hasText: 'waiting for approval: bash: rm -r build' }).waitFor({ state: 'attached' });
  await shown.click();
  const detail = page.getByRole('complementary', { name: 'builder' });
  const approvals = detail.locator('section', { has: page.getByRole('heading', { name: 'Waiting for approval' }) });
  await approvals.getByText('rm -r build', { exact: true }).waitFor();
  assert.match(await approvals.locator('.since').textContent(), /^for \d+s$/);
  assert.equal(await detail.locator('section', { has: page.getByRole('heading', { name: 'Running' }) }).isVisible(), false, 'not shown twice');
  agent.send({ type: 'response', command: 'confirm', id: agent.call, success: true });
  await shown.getByText('running bash').waitFor();
  await approvals.waitFor({ state: 'hidden' });
  await shown.getByText('rm -r build', { exact: true }).waitFor();
  agent.result('');

  // What would change is shown next to the arguments.
  agent.tool('edit', { path: 'notes.txt', edits: [{ oldText: 'milk', newText: 'oat milk' }] });
  agent.confirm('edit', { path: 'notes.txt', edits: [] }, '-buy milk\n+buy oat milk');
  await shown.getByText('waiting for approval: edit').waitFor();
  await approvals.getByText('notes.txt', { exact: true }).waitFor();
  assert.equal(await approvals.locator('.request').textContent(), '-buy milk\n+buy oat milk');
  await filter(page, 'notes.txt oat');
  await page.getByText('1 of 1', { exact: true }).waitFor();
});

pageTest('a permission request of claude-code shows its arguments', async ({ server, open }) => {
  const agent = await server.agent('claude', { source: 'claude-code' });
  agent.send(
    { type: 'system', subtype: 'init', model: 'opus', cwd: '/work' },
    { type: 'control_request', request_id: 'r1', request: { subtype: 'can_use_tool', tool_name: 'WebFetch', input: { prompt: 'sum up', url: 'https://example.org/' } } },
  );
  const page = await open();
  await card(page, 'claude').getByText('waiting for approval: WebFetch').waitFor();
  await card(page, 'claude').getByText('https://example.org/ prompt=sum up').waitFor();
});

pageTest('hostile arguments are neutralised', async ({ server, open }) => {
  const page = await open();
  const agent = await server.agent('evil \u202e\u001b[31m');
  agent.turn();
  agent.write('turned \u202e around');
  const hostile = 'a\u001b[2J\u009bb\u202ec\u2066d\u200be <img src=x onerror=alert(1)>';
  agent.tool('ba\u202esh', { command: hostile, 'na\u202eme': '\u0007' });
  agent.confirm('ba\u202esh', { command: hostile }, `before ${hostile}`);
  await page.locator('.card .state', { hasText: 'waiting for approval' }).waitFor();
  await page.locator('.card').click();
  await page.locator('.calls li').first().waitFor();
  await until(async () => (await page.locator('.stream').textContent()).includes('around'), 'the text is there');
  const shown = await page.evaluate(() => document.body.innerText + document.title);
  assert.match(shown, /a\ufffd\[2J\ufffdb\ufffdc\ufffdd\ufffde <img src=x onerror=alert\(1\)>/);
  assert.doesNotMatch(shown, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b]/);
  assert.equal(await page.locator('img').count(), 0);
});

pageTest('orders by attention and moves cards only when needed', async ({ server, open }) => {
  const page = await open();
  const agents = {};
  for (const label of ['done', 'idle', 'first', 'second', 'third', 'failed']) agents[label] = await server.agent(label);
  for (const label of ['first', 'second', 'third']) agents[label].turn();
  agents.done.done();
  agents.failed.fail('broken');
  await order(page, ['failed', 'first', 'second', 'third', 'idle', 'done']);
  assert.equal(await page.getByRole('combobox', { name: 'Sort' }).inputValue(), 'attention');
  // Progress moves no card.
  agents.third.tool('bash', { command: 'ls' });
  agents.first.write('text');
  await card(page, 'third').getByText('running bash').waitFor();
  await card(page, 'first').getByText('writing').waitFor();
  await order(page, ['failed', 'first', 'second', 'third', 'idle', 'done']);
  agents.third.confirm('bash', { command: 'ls' });
  await order(page, ['third', 'failed', 'first', 'second', 'idle', 'done']);
  // The longest wait stays first.
  agents.second.tool('bash', { command: 'pwd' });
  agents.second.confirm('bash', { command: 'pwd' });
  await order(page, ['third', 'second', 'failed', 'first', 'idle', 'done']);
  agents.third.result('ok');
  await order(page, ['second', 'failed', 'first', 'third', 'idle', 'done']);
});

pageTest('no card moves while the pointer moves', async ({ server, open }) => {
  const page = await open();
  const one = await server.agent('one');
  const two = await server.agent('two');
  one.turn();
  two.turn();
  await order(page, ['one', 'two']);
  await page.evaluate(() => {
    const move = () => document.getElementById('grid').dispatchEvent(new PointerEvent('pointermove'));
    globalThis.moving = setInterval(move, 20);
    move();
  });
  two.fail('broken');
  await server.agent('three');
  await card(page, 'two').getByText('failed').waitFor();
  // New ones are added at the end.
  await order(page, ['one', 'two', 'three']);
  await page.evaluate(() => clearInterval(globalThis.moving));
  await order(page, ['two', 'one', 'three']);
});

pageTest('long-silent agents come before working ones', async ({ server, open }) => {
  const path = join(server.directory, 'silent.jsonl');
  const start = 1_790_000_000_000;
  const records = [];
  const put = (agent, seconds, event) => records.push({ seq: 0, at_ms: start + seconds * 1000, agent, event });
  for (const agent of ['a1', 'a2', 'a3']) put(agent, 0, { type: 'turn_start', step: 1 });
  put('a3', 5, { type: 'message_update', role: 'assistant', text: 'x' });
  put('a2', 20, { type: 'message_update', role: 'assistant', text: 'x' });
  for (let second = 1; second <= 60; second += 1) put('a1', second, { type: 'message_update', role: 'assistant', text: 'x' });
  writeFileSync(path, toLog(records.sort((one, other) => one.at_ms - other.at_ms)));
  const page = await open();
  await page.locator('#log-file').setInputFiles(path);
  await page.getByRole('region', { name: 'Replay' }).getByRole('button', { name: 'Pause' }).click();
  await page.locator('#replay-position').fill('500');
  await order(page, ['a1', 'a2', 'a3']);
  await page.locator('#replay-position').fill('700');
  await order(page, ['a3', 'a1', 'a2']);
  await page.locator('#replay-position').fill('1000');
  await order(page, ['a3', 'a2', 'a1']);
});

pageTest('filters live by messages and tool calls', async ({ server, open }) => {
  const page = await open();
  const one = await server.agent('one', { model: 'opus' });
  const two = await server.agent('two', { source: 'pi' });
  await card(page, 'two').waitFor();
  one.prompt('Translate the help');
  one.turn();
  one.write('I begin with the gloss');
  one.write('ary.');
  await filter(page, 'glossary OPUS');
  await order(page, ['one']);
  await filter(page, 'translate');
  await order(page, ['one']);
  // While a filter is set, agents appear and disappear with their text.
  await filter(page, 'lookahead');
  await order(page, []);
  one.tool('grep', { pattern: 'lookahead' });
  await order(page, ['one']);
  one.result('src/lexer.rs:88: "quoted"');
  one.send({ type: 'assistant_message', content: [{ type: 'text', text: 'I begin with the glossary.' }] });
  await order(page, ['one']);
  await filter(page, '"quoted" lexer.rs');
  await order(page, ['one']);
  await filter(page, 'glossary lookahead');
  await order(page, ['one']);
  await filter(page, 'one nothing');
  await order(page, []);
  await filter(page, 'thinking');
  await order(page, ['one']);
  // Errors can be searched as well.
  await filter(page, 'overloaded');
  two.end();
  one.fail('http 529: overloaded');
  await order(page, ['one']);
});

pageTest('an unknown state is shown by name and not in green', async ({ open }) => {
  const page = await open();
  const { words, colours } = await page.evaluate(async () => {
    const base = document.querySelector('script[type="module"]').src.replace(/app\.js$/, '');
    const { stateColour, stateWords } = await import(`${base}format.js`);
    const { attention } = await import(`${base}attention.js`);
    const agent = (status) => ({ status, running: [], approvals: [], lastAt: 0, since_ms: 0, unknown: 1 });
    const states = ['interrupted', 'not_understood', 'on_holiday', 'done', 'failed', 'toString'];
    return {
      words: states.map((status) => `${attention(agent(status), 0)[0]} ${stateWords(agent(status)).split(':')[0]}`),
      colours: states.map((status) => stateColour(status)),
    };
  });
  assert.deepEqual(words, ['5 interrupted', '1 not understood', '1 on holiday', '5 done', '1 failed', '1 toString']);
  assert.equal(new Set(colours.filter((colour) => colour === 'var(--done)')).size, 1);
  assert.equal(colours[2], 'var(--unknown-state)');
  assert.equal(colours[5], 'var(--unknown-state)');
});
