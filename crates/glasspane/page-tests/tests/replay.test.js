import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { dollars } from '../../assets/format.js';
import { makeRecords, toLog } from '../recording.js';
import { card, names, pageTest, until } from './setup.js';

const directory = mkdtempSync(join(tmpdir(), 'glasspane-replay-'));
const log = join(directory, 'recorded.jsonl');
const SECONDS = 40;
const records = makeRecords(6, SECONDS);
writeFileSync(log, `${toLog(records)}not a record\n`);
after(() => rmSync(directory, { recursive: true }));

const position = (page) => page.locator('#replay-position').evaluate((slider) => Number(slider.value));
const cost = (page) => page.locator('#total-cost').textContent();
const scrub = (page, value) => page.locator('#replay-position').fill(String(value));
const setSpeed = (page, speed) => page.locator('#replay-speed').fill(String(Math.log10(speed)));
const play = (page) => page.getByRole('region', { name: 'Replay' }).getByRole('button', { name: /^(Play|Pause)$/ });

pageTest('replays the log that the server was started with', async ({ open }) => {
  const page = await open();
  await page.getByText('replay', { exact: true }).waitFor();
  await page.getByText('1 line of recorded.jsonl is not a record and was skipped.').waitFor();
  await card(page, 'recorded 1').waitFor();
  await until(async () => (await position(page)) > 20, 'it plays automatically');
  await play(page).click();
  const held = await position(page);
  await page.waitForTimeout(200);
  assert.equal(await position(page), held, 'paused');

  await setSpeed(page, 100);
  assert.equal(await page.locator('#replay-speed-words').textContent(), '100×');
  await play(page).click();
  await card(page, 'recorded 1').getByText('done').waitFor();
  await card(page, 'recorded 2').getByText('failed').waitFor();
  await until(async () => (await play(page).textContent()) === 'Play', 'it stops at the end');
  assert.equal(await position(page), 1000);
  const spent = dollars(spentIn(records));
  await until(async () => (await cost(page)) === spent, 'the last totals are shown');

  // Going back removes what had not happened yet.
  await scrub(page, 5);
  await until(async () => (await names(page)).length < 6, 'later agents are gone');
  await until(async () => (await cost(page)) !== spent, 'what they spent is gone');
  await scrub(page, 1000);
  await until(async () => (await names(page)).length === 6, 'all are back');
  await until(async () => (await cost(page)) === spent, 'the totals are the same again');

  await setSpeed(page, 0.1);
  assert.equal(await page.locator('#replay-speed-words').textContent(), '0.1×');
  await scrub(page, 500);
  await play(page).click();
  const from = await moment(page);
  await until(async () => (await moment(page)).position > from.position, 'it plays slowly');
  const to = await moment(page);
  const played = (to.position - from.position) * SECONDS;
  assert.ok(played < (to.at - from.at) * 0.2 + SECONDS, `played ${played} ms in ${to.at - from.at} ms`);
}, '--replay', log);

/** What all agents of these records spent. */
function spentIn(all) {
  const last = new Map();
  for (const { agent, usage } of all) if (usage) last.set(agent, usage.cost_usd);
  return [...last.values()].reduce((sum, one) => sum + one, 0);
}

/** Where the slider (in thousandths) is at which time of the page. */
function moment(page) {
  return page.locator('#replay-position').evaluate((slider) => ({ position: Number(slider.value), at: performance.now() }));
}

pageTest('replays a file chosen in the page, and returns to the live feed', async ({ server, open }) => {
  const agent = await server.agent('live agent');
  agent.turn();
  const page = await open();
  await card(page, 'live agent').waitFor();
  await page.locator('#log-file').setInputFiles(log);
  await card(page, 'recorded 1').waitFor();
  assert.equal(await card(page, 'live agent').count(), 0);
  await scrub(page, 1000);
  await card(page, 'recorded 3').click();
  const detail = page.getByRole('complementary', { name: 'recorded 3' });
  await detail.getByText('tool never ended but was not started').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Back to live' }).click();
  await card(page, 'live agent').getByText('thinking').waitFor();
  assert.deepEqual(await names(page), ['live agent']);
  assert.equal(await page.locator('#replay').isVisible(), false);
});

pageTest('reports an unusable file', async ({ open }) => {
  const page = await open();
  await page.locator('#log-file').setInputFiles({ name: 'photo.jsonl', mimeType: 'text/plain', buffer: Buffer.from('no\nrecords\n') });
  await page.getByText('photo.jsonl contains no records.').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
});
