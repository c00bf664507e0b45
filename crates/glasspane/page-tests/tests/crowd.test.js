import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fleet } from '../fleet.js';
import { measure } from '../frames.js';
import { Server, launchBrowser, missingRequirement } from '../harness.js';
import { names, pageTest, until } from './setup.js';

const AGENTS = 200;
/** The states in which an agent that has left can be. */
const ENDED = new Set(['done', 'failed', 'interrupted']);

pageTest('200 agents', async ({ server, open }) => {
  const fleet = await Fleet.connect(server.socket, AGENTS);
  fleet.step(AGENTS * 30);
  const page = await open();
  await until(async () => (await page.locator('#total-agents').textContent()) === String(AGENTS), 'all are counted');
  await until(async () => (await names(page)).length === AGENTS, 'all have a card');
  fleet.run(1000);
  const drawn = () => page.locator('.card .source').evaluateAll((sources) => sources.filter((one) => one.textContent).length);
  await until(async () => (await drawn()) > 0, 'the visible cards are drawn');
  // Invisible cards are not.
  const count = await drawn();
  assert.ok(count < AGENTS / 2, `${count} drawn`);
  // They are up to date as soon as they are visible.
  await page.locator('.card').last().scrollIntoViewIfNeeded();
  await until(async () => (await page.locator('.card').last().locator('.source').textContent()) === 'zot', 'the last one is drawn');
  await page.getByLabel('Filter by text').fill('/work/refactor');
  await until(async () => (await names(page)).every((name) => name.startsWith('refactor parser')), 'only the matching agents');
  await page.getByLabel('Filter by text').fill('');
  await until(async () => (await names(page)).length === AGENTS, 'all agents are back');
  const ended = async () => {
    const counts = await page.locator('#filter-states button').evaluateAll((chips) => chips.map((chip) => [chip.dataset.status, Number(chip.dataset.count)]));
    return counts.reduce((sum, [status, number]) => (ENDED.has(status) ? sum + number : sum), 0);
  };
  // Otherwise the next condition would say nothing.
  assert.ok((await ended()) < AGENTS, 'some agents are at work');
  fleet.end();
  await until(async () => (await ended()) === AGENTS, 'the agents have left');
});

/** Far above the figure in BENCHMARKS.md, because machines may be busy. */
const MAX_P95_MS = 120;
/** A page that is too slow is too slow each time; a machine is busy for a while. */
const ATTEMPTS = 3;

test('frames stay short with 200 agents', { skip: missingRequirement() || false, timeout: 180_000 }, async () => {
  const results = [];
  while (results.length < ATTEMPTS && !results.some((result) => result.p95_ms < MAX_P95_MS)) results.push(await measureFrames());
  assert.ok(results.some((result) => result.p95_ms < MAX_P95_MS), JSON.stringify(results));
});

async function measureFrames() {
  const server = await Server.start();
  const browser = await launchBrowser();
  try {
    const result = await measure({ agents: AGENTS, rate: 1000, seconds: 4 }, browser, server);
    assert.deepEqual(result.problems, []);
    assert.equal(result.cards, AGENTS);
    return result;
  } finally {
    await browser.close();
    await server.close();
  }
}
