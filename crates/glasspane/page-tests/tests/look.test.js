import assert from 'node:assert/strict';
import { card, names, pageTest, until } from './setup.js';

const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

async function startThree(server) {
  const agents = [];
  for (const label of ['one', 'two', 'three']) agents.push(await server.agent(label));
  for (const agent of agents) agent.turn();
  agents[1].tool('bash');
  return agents;
}

pageTest('fits a phone', async ({ server, open }) => {
  await startThree(server);
  const page = await open(PHONE);
  await card(page, 'three').waitFor();
  const lefts = await page.locator('.card').evaluateAll((cards) => cards.map((one) => one.getBoundingClientRect().left));
  assert.equal(new Set(lefts).size, 1, 'one column');
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(await wide(), 0, 'nothing overflows');
  await card(page, 'two').tap();
  const detail = page.getByRole('complementary', { name: 'two' });
  await detail.waitFor();
  const box = await detail.boundingBox();
  assert.deepEqual([box.x, box.y, box.width, box.height], [0, 0, 360, 740]);
  assert.equal(await wide(), 0);
  const small = await page.locator('button:visible').evaluateAll((buttons) => buttons
    .filter((button) => !button.classList.contains('title') && button.getBoundingClientRect().height < 32).length);
  assert.equal(small, 0, 'all buttons are large enough');
  await detail.getByRole('button', { name: 'Close' }).tap();
  await detail.waitFor({ state: 'hidden' });
});

/** The contrast of text with its background, by the formula of WCAG 2. */
function contrasts() {
  const channel = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/\w\w/g).map((part) => channel(parseInt(part, 16) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim().slice(1);
  const poor = [];
  const texts = ['text', 'quiet', 'accent', 'starting', 'idle', 'thinking', 'writing', 'running_tool', 'waiting_for_approval', 'done', 'failed',
    'not_understood', 'interrupted', 'unknown-state'];
  for (const ground of ['surface', 'ground', 'raised']) {
    for (const text of texts) {
      const [light, dark] = [luminance(of(text)), luminance(of(ground))].sort((one, other) => other - one);
      const ratio = (light + 0.05) / (dark + 0.05);
      if (ratio < 4.5) poor.push(`${text} on ${ground}: ${ratio.toFixed(2)}`);
    }
  }
  return poor;
}

pageTest('follows the theme of the system or the chosen one', async ({ server, open }) => {
  await startThree(server);
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await open({ colorScheme: 'light' });
  await card(light, 'one').waitFor();
  const dark = await open({ colorScheme: 'dark' });
  await card(dark, 'one').waitFor();
  assert.equal(await ground(light), 'rgb(243, 245, 248)');
  assert.equal(await ground(dark), 'rgb(13, 16, 21)');
  for (const page of [light, dark]) assert.deepEqual(await page.evaluate(contrasts), []);
  // The theme of the system may change.
  await light.emulateMedia({ colorScheme: 'dark' });
  await until(async () => (await ground(light)) === 'rgb(13, 16, 21)', 'it follows');
  await light.getByRole('button', { name: 'Theme: auto' }).click();
  assert.equal(await ground(light), 'rgb(243, 245, 248)');
  await light.reload();
  await light.getByRole('button', { name: 'Theme: light' }).waitFor();
  assert.equal(await ground(light), 'rgb(243, 245, 248)', 'it remembers');
});

pageTest('can be used with the keyboard', async ({ server, open }) => {
  const agents = await startThree(server);
  const page = await open();
  await card(page, 'three').waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  const press = (key) => page.keyboard.press(key);
  await press('j');
  assert.equal(await focused(), 'one');
  await press('j');
  await press('ArrowRight');
  assert.equal(await focused(), 'three');
  await press('j');
  assert.equal(await focused(), 'three', 'no next card');
  await press('k');
  assert.equal(await focused(), 'two');
  await press('Enter');
  await page.getByRole('complementary', { name: 'two' }).waitFor();
  await press('k');
  await page.getByRole('complementary', { name: 'one' }).waitFor();
  await press('Escape');
  assert.equal(await page.locator('#detail').isVisible(), false);
  assert.equal(await focused(), 'one');

  await press('/');
  await page.keyboard.type('two j?');
  assert.equal(await page.getByLabel('Filter by text').inputValue(), 'two j?', 'letters are typed, not shortcuts');
  await press('Escape');
  await until(async () => (await names(page)).length === 3, 'escape clears');
  await page.keyboard.type('two');
  await press('Enter');
  await until(async () => (await focused()) === 'two', 'enter focuses the first card');

  await press(' ');
  assert.equal(await page.locator('#pause').getAttribute('aria-pressed'), 'true');
  await press(' ');
  assert.equal(await page.locator('#pause').getAttribute('aria-pressed'), 'false');
  await press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  // The focus stays on an agent that moves.
  await page.locator('#filter-text').fill('');
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('attention');
  await card(page, 'three').locator('.title').focus();
  agents[2].fail('broken');
  await until(async () => (await names(page))[0] === 'three', 'it moved');
  assert.equal(await focused(), 'three');
});

pageTest('can be used with a screen reader', async ({ server, open }) => {
  await startThree(server);
  const page = await open();
  await card(page, 'two').click();
  await page.getByRole('complementary', { name: 'two' }).waitFor();
  const nameless = await page.locator('button, input, select, canvas, a, [role]').evaluateAll((elements) => elements
    .filter((one) => !one.closest('[aria-hidden]') && !one.hidden)
    .filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label') || one.getAttribute('aria-labelledby')
      || one.labels?.length || one.getAttribute('role') === 'status'))
    .map((one) => one.outerHTML));
  assert.deepEqual(nameless, []);
  const live = await page.locator('[aria-live], [role="status"]').count();
  assert.equal(live, 3, 'only important changes are announced');
  await page.keyboard.press('Tab');
  const outline = await page.evaluate(() => {
    const focused = document.activeElement;
    return getComputedStyle(focused, focused.matches('.card .title') ? '::after' : null).outlineStyle;
  });
  assert.notEqual(outline, 'none', 'the focus is visible');
});
