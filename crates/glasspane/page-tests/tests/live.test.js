import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { Wire } from '../harness.js';
import { card, names, pageTest, until } from './setup.js';

pageTest('an empty page opens', async ({ server, open }) => {
  const bare = await fetch(new URL('/', server.url));
  assert.equal(bare.status, 403);
  const page = await open();
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'No agents yet' }).waitFor();
  for (const landmark of ['banner', 'main', 'search']) assert.equal(await page.getByRole(landmark).count(), 1, landmark);
  const headers = (await page.request.get(server.url)).headers();
  assert.match(headers['content-security-policy'], /default-src 'none'; script-src 'self'/);
});

pageTest('streams what agents do', async ({ server, open }) => {
  const page = await open();
  const agent = await server.agent('builder', { model: 'offline', cwd: '/work/there' });
  const shown = card(page, 'builder');
  await shown.getByText('starting').waitFor();
  agent.prompt('count the files');
  await shown.getByText('thinking').waitFor();
  agent.turn();
  agent.write('There are ');
  await shown.getByText('writing').waitFor();
  agent.write('<b>seven</b> files');
  await shown.getByText('There are <b>seven</b> files').waitFor();
  agent.tool('bash');
  await shown.getByText('running bash').waitFor();
  agent.confirm('bash');
  await shown.getByText('waiting for approval: bash').waitFor();
  agent.send({ type: 'tool_progress', id: agent.call, text: 'x' });
  await shown.getByText('running bash').waitFor();
  agent.turnEnd('tool_use');
  agent.result('7');
  agent.usage(1200, 340, 5000, 0.25);
  await shown.getByText('$0.25').waitFor();
  await shown.getByText('6.5k tok').waitFor();
  agent.turn();
  agent.fail('http 529: overloaded');
  await shown.getByText('failed').waitFor();
  await shown.getByText('http 529: overloaded').waitFor();
  await page.locator('#announce', { hasText: 'builder: failed' }).waitFor({ state: 'attached' });
  assert.equal(await shown.locator('b').count(), 0, 'text is not parsed as HTML');
});

pageTest('shows what was contacted through the sandbox', async ({ server, open }) => {
  const agent = await server.agent('builder', {});
  agent.prompt('go');
  agent.turn();
  agent.tool('bash');
  const network = [{ host: 'crates.io', port: 443, allowed: true }, { host: '<b>evil</b>.example', port: 80, allowed: false }];
  agent.send({ type: 'tool_result', id: agent.call, is_error: false, content: [], network });
  const page = await open();
  await card(page, 'builder').click();
  const detail = page.getByRole('complementary', { name: 'builder' });
  const hosts = detail.locator('.hosts li');
  await hosts.first().waitFor();
  assert.deepEqual(await hosts.allTextContents(), ['refused <b>evil</b>.example:80', 'crates.io:443']);
  await detail.getByText('1 refused').waitFor();
});

pageTest('shows the details of one agent', async ({ server, open }) => {
  const agent = await server.agent('builder', { model: 'offline', cwd: '/work/there' });
  agent.prompt('go');
  agent.turn();
  agent.tool('bash');
  agent.result('first', false);
  agent.send({ type: 'tool_result', id: 'never', is_error: false, content: [] });
  agent.send({ type: 'something_new' });
  const page = await open();
  await card(page, 'builder').click();
  const detail = page.getByRole('complementary', { name: 'builder' });
  await detail.getByText('offline', { exact: true }).waitFor();
  await detail.getByText('/work/there').waitFor();
  await detail.getByText('tool never ended but was not started').waitFor();
  await detail.locator('.log li', { hasText: 'tool start' }).waitFor();
  await detail.locator('.log li', { hasText: 'something_new' }).waitFor();
  await detail.getByText('0 + 1 unknown').waitFor();
  const before = await detail.locator('.log li').count();
  agent.tool('read');
  await detail.getByText('running read').waitFor();
  await detail.locator('.log li', { hasText: 'read' }).waitFor();
  assert.equal(await detail.locator('.log li').count(), before + 1);
  await detail.getByRole('button', { name: 'Close' }).click();
  await detail.waitFor({ state: 'hidden' });
});

pageTest('filters and sorts', async ({ server, open }) => {
  const page = await open();
  const one = await server.agent('alpha', { model: 'small' });
  const two = await server.agent('beta', { source: 'codex' });
  const three = await server.agent('gamma', { cwd: '/work/alpha' });
  one.turn();
  one.usage(10, 10, 0, 0.5);
  three.turn();
  three.tool('grep');
  three.usage(10, 10, 0, 2);
  two.send({ type: 'turn.started' }, { type: 'turn.completed' });
  await card(page, 'gamma').getByText('running grep').waitFor();
  await card(page, 'beta').getByText('done').waitFor();
  const expect = (expected) => until(async () => String(await names(page)) === String(expected), `${expected}`);
  // A finished agent needs no attention. Cards move less often than their texts change.
  await expect(['alpha', 'gamma', 'beta']);
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('attached');
  await expect(['alpha', 'beta', 'gamma']);
  await page.getByLabel('Filter by text').fill('ALPHA');
  await expect(['alpha', 'gamma']);
  await page.getByText('2 of 3', { exact: true }).waitFor();
  await page.getByLabel('Filter by text').fill('alpha grep');
  await expect(['gamma']);
  await page.getByLabel('Filter by text').fill('nothing matches');
  await page.getByRole('heading', { name: 'No agent matches the filters' }).waitFor();
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await expect(['alpha', 'beta', 'gamma']);

  const chip = page.getByRole('button', { name: /^tool 1$/ });
  await chip.click();
  assert.equal(await chip.getAttribute('aria-pressed'), 'true');
  await expect(['gamma']);
  // An agent that leaves the state leaves the page.
  three.result('ok');
  await expect([]);
  await page.getByRole('button', { name: /^tool 0$/ }).click();
  await page.getByRole('combobox', { name: 'Source' }).selectOption('codex');
  await expect(['beta']);
  await page.getByRole('combobox', { name: 'Source' }).selectOption('');

  await page.getByRole('combobox', { name: 'Sort' }).selectOption('cost');
  await expect(['gamma', 'alpha', 'beta']);
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('attention');
  one.fail('broken');
  await expect(['alpha', 'gamma', 'beta']);
});

pageTest('can be paused', async ({ server, open }) => {
  const page = await open();
  const agent = await server.agent('builder');
  agent.turn();
  agent.write('one ');
  const text = card(page, 'builder').locator('.text');
  await until(async () => (await text.textContent()) === 'one ', 'the first piece');
  await page.getByRole('button', { name: 'Pause' }).click();
  agent.write('two');
  await until(async () => (await server.snapshot()).agents[0].last_text === 'one two', 'the server has it');
  // Two intervals of the feed.
  await page.waitForTimeout(300);
  assert.equal(await text.textContent(), 'one ');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('one two').waitFor();
});

pageTest('continues after a lost connection', async ({ server, open }) => {
  const wire = await Wire.to(server.url);
  const page = await open({}, wire.url);
  const agent = await server.agent('builder');
  agent.turn();
  agent.write('before ');
  await page.getByText('before').waitFor();
  wire.cut();
  await page.getByText('disconnected').waitFor();
  await page.getByText('The server does not respond').waitFor();
  agent.write('meanwhile ');
  await until(async () => (await server.snapshot()).agents[0].last_text === 'before meanwhile ', 'the server has it');
  wire.reconnect();
  await page.getByText('live', { exact: true }).waitFor();
  agent.write('after');
  await page.getByText('before meanwhile after', { exact: true }).waitFor();
  assert.equal(await page.locator('#notice').isVisible(), false);
  wire.close();
});

pageTest('survives a restart of the server', async ({ server, open }) => {
  const page = await open();
  const agent = await server.agent('before the restart');
  agent.turn();
  agent.write('still to be seen');
  await page.getByText('still to be seen').waitFor();
  await server.stop('SIGKILL');
  await page.getByText('The server does not respond').waitFor();
  await page.getByText('still to be seen').waitFor();
  await server.start();
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'No agents yet' }).waitFor();
  assert.equal(await page.locator('#notice').isVisible(), false);
  const next = await server.agent('after the restart');
  next.turn();
  next.write('here we are');
  await page.getByText('here we are').waitFor();
  assert.deepEqual(await names(page), ['after the restart']);
});

pageTest('reports the token of an earlier server', async ({ server, open }) => {
  const page = await open();
  await page.getByText('live', { exact: true }).waitFor();
  await server.stop();
  rmSync(`${server.directory}/token`);
  await server.start();
  await page.getByText('Open the address it printed last').waitFor();
  await page.getByText('not allowed', { exact: true }).waitFor();
});
