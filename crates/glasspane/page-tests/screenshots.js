// The images of docs/glasspane.md. Run it with scripts/screenshots.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Fleet } from './fleet.js';
import { Server, launchBrowser, openPage, missingRequirement } from './harness.js';
import { shrink } from './png.js';
import { makeRecords, toLog } from './recording.js';

const directory = process.argv[2];
const missing = directory ? missingRequirement() : 'usage: node screenshots.js DIRECTORY';
if (missing) {
  console.error(missing);
  process.exit(1);
}

const browser = await launchBrowser();

async function image(page, name) {
  const path = join(directory, `${name}.png`);
  const bytes = shrink(await page.screenshot());
  writeFileSync(path, bytes);
  console.log(`${path}: ${Math.round(bytes.length / 1024)} KiB`);
}

async function live() {
  const server = await Server.start();
  const fleet = await Fleet.connect(server.socket, 24);
  fleet.run(220);
  const wide = { viewport: { width: 1280, height: 800 } };
  const light = await openPage(browser, server.url, { ...wide, colorScheme: 'light' });
  const dark = await openPage(browser, server.url, { ...wide, colorScheme: 'dark' });
  const phone = await openPage(browser, server.url, {
    viewport: { width: 390, height: 780 }, deviceScaleFactor: 1.5, isMobile: true, hasTouch: true, colorScheme: 'dark',
  });
  await light.page.waitForTimeout(45_000);
  await image(light.page, 'glasspane');
  await dark.page.locator('.card').nth(1).click();
  await dark.page.waitForTimeout(1500);
  await image(dark.page, 'glasspane-agent');
  await image(phone.page, 'glasspane-phone');
  fleet.end();
  await server.close();
}

async function replay() {
  const logs = mkdtempSync(join(tmpdir(), 'glasspane-images-'));
  const log = join(logs, 'nightly.jsonl');
  writeFileSync(log, toLog(makeRecords(8, 90)));
  const server = await Server.start('--replay', log);
  const { page } = await openPage(browser, server.url, { viewport: { width: 1280, height: 620 }, colorScheme: 'light' });
  await page.locator('.card').first().waitFor();
  await page.locator('#replay-position').fill('600');
  await page.locator('#replay-speed').fill(String(Math.log10(5)));
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForTimeout(4000);
  await image(page, 'glasspane-replay');
  await server.close();
  rmSync(logs, { recursive: true });
}

try {
  await live();
  await replay();
} finally {
  await browser.close();
}
