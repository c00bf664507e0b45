// The setup of every test file: one browser, a server for each test.

import { after, before, test } from 'node:test';
import { Server, launchBrowser, openPage, missingRequirement } from '../harness.js';
import assert from 'node:assert/strict';

const missing = missingRequirement();
const PATIENCE = 60_000;
let browser;

before(async () => {
  if (!missing) browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
});

/**
 * A test with a server and a function that opens its page. Afterwards, no page may have reported a problem
 * or contacted another server.
 */
export function pageTest(name, run, ...flags) {
  test(name, { skip: missing || false, timeout: PATIENCE }, async () => {
    const server = await Server.start(...flags);
    const opened = [];
    const open = async (options, url = server.url) => {
      const one = await openPage(browser, url, options);
      opened.push(one);
      return one.page;
    };
    try {
      await run({ server, open });
      for (const { problems, foreign } of opened) {
        assert.deepEqual(problems, []);
        assert.deepEqual(foreign, []);
      }
    } finally {
      for (const { context } of opened) await context.close();
      await server.close();
    }
  });
}

export function card(page, label) {
  return page.locator('.card', { has: page.getByRole('button', { name: label, exact: true }) });
}

/** The names of the cards, in order. */
export function names(page) {
  return page.locator('.card .title').allTextContents();
}

/** Waits until `check` holds in this process. */
export async function until(check, words) {
  const deadline = Date.now() + 15_000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`never: ${words}`);
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}
