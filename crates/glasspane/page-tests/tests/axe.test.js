// The rules of axe-core, on every view of the page, light and dark.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Fleet } from '../fleet.js';
import { makeRecords, toLog } from '../recording.js';
import { card, names, pageTest, until } from './setup.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PHONE = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true };

/** Checks all rules of axe on the current page; the message lists the violations. */
async function check(page, view) {
  const session = await page.context().newCDPSession(page);
  // Not a script of the page, whose content policy stays unchanged.
  await session.send('Runtime.evaluate', { expression: AXE });
  await session.detach();
  const broken = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, help, nodes }) => ({
      id, help, nodes: nodes.slice(0, 5).map(({ html, failureSummary }) => `${html.slice(0, 200)}: ${failureSummary}`),
    }));
  });
  assert.deepEqual(broken, [], view);
}

for (const colorScheme of ['light', 'dark']) {
  pageTest(`axe, ${colorScheme}: no agents, help, and a stopped server`, async ({ server, open }) => {
    const page = await open({ colorScheme });
    await page.getByRole('heading', { name: 'No agents yet' }).waitFor();
    await check(page, 'empty');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await check(page, 'help');
    await page.keyboard.press('Escape');
    await server.stop();
    await page.getByText('The server does not respond').waitFor();
    await check(page, 'gone');
    await server.start();
  });

  pageTest(`axe, ${colorScheme}: many agents, details, a filter`, async ({ server, open }) => {
    const fleet = await Fleet.connect(server.socket, 40);
    fleet.step(40 * 60);
    const waiting = await server.agent('waiting');
    waiting.prompt('tidy up');
    waiting.turn();
    waiting.tool('bash', { command: `rm -r build\n${'echo done\n'.repeat(80)}`, timeout: 60 });
    waiting.confirm('bash', { command: 'rm -r build', timeout: 60 }, `this removes\n${'a file\n'.repeat(80)}`);
    waiting.tool('edit', { path: 'src/main.rs', content: 'fn main() {}\n'.repeat(80) });
    const failed = await server.agent('failed');
    failed.send({ type: 'tool_result', id: 'never', is_error: false, content: [] });
    failed.turn();
    failed.fail('http 529: overloaded');
    const page = await open({ colorScheme });
    await until(async () => (await names(page)).length === 42, 'all agents are shown');
    await card(page, 'waiting').getByText('rm -r build').waitFor();
    await check(page, 'many agents');
    for (const label of ['waiting', 'failed']) {
      await card(page, label).click();
      await page.getByRole('complementary', { name: label }).getByText('Events').waitFor();
      await check(page, `details of ${label}`);
    }
    await page.getByLabel('Filter by text').fill('rm -r build');
    await page.getByText('1 of 42', { exact: true }).waitFor();
    await page.locator('#filter-states button').first().click();
    await check(page, 'a filter');
    await page.getByLabel('Filter by text').fill('nothing has this');
    await page.getByRole('heading', { name: 'No agent matches the filters' }).waitFor();
    await check(page, 'no match');
    fleet.end();
  });

  pageTest(`axe, ${colorScheme}: on a phone, and a replay`, async ({ server, open }) => {
    const agent = await server.agent('builder');
    agent.turn();
    agent.tool('bash', { command: 'cargo test' });
    const page = await open({ ...PHONE, colorScheme });
    await card(page, 'builder').getByText('running bash').waitFor();
    await check(page, 'phone');
    await card(page, 'builder').tap();
    await page.getByRole('complementary', { name: 'builder' }).waitFor();
    await check(page, 'phone, details');
    const log = join(server.directory, 'log.jsonl');
    writeFileSync(log, toLog(makeRecords(6, 30)));
    const wide = await open({ colorScheme });
    await wide.locator('#log-file').setInputFiles(log);
    await wide.locator('#replay-position').fill('1000');
    await card(wide, 'recorded 2').getByText('failed').waitFor();
    await check(wide, 'replay');
  });
}
