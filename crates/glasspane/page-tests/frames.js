// Measures how long frames of the page take while many agents work. Prints one JSON object.
//
//   node frames.js [--agents 200] [--rate 2000] [--seconds 10]
//
// The rate is steps of agents per second, of which about six in seven are an event. A frame is the
// time between two callbacks of requestAnimationFrame, so a screen of 60 Hz has 16.7 ms at best.

import { parseArgs } from 'node:util';
import { Fleet } from './fleet.js';
import { Server, launchBrowser, openPage, missingRequirement } from './harness.js';

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: '200' },
    rate: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '10' },
  },
});

export async function measure({ agents, rate, seconds }, browser, server) {
  const fleet = await Fleet.connect(server.socket, agents);
  fleet.run(rate);
  const { page, problems, context } = await openPage(browser, server.url);
  await page.locator(`.card >> nth=${Math.min(agents, 200) - 1}`).waitFor({ state: 'attached' });
  // Wait until the first snapshot is laid out and the code is compiled.
  await page.waitForTimeout(2000);
  const before = fleet.sent;
  const result = await page.evaluate((time) => new Promise((resolve) => {
    const frames = [];
    const long = [];
    const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration)));
    observer.observe({ entryTypes: ['longtask'] });
    let last = performance.now();
    const until = last + time;
    const next = (at) => {
      frames.push(at - last);
      last = at;
      if (at < until) {
        requestAnimationFrame(next);
        return;
      }
      observer.disconnect();
      frames.shift();
      frames.sort((one, other) => one - other);
      const part = (share) => Number(frames[Math.min(frames.length - 1, Math.floor(frames.length * share))].toFixed(1));
      resolve({
        frames: frames.length,
        p50_ms: part(0.5),
        p95_ms: part(0.95),
        p99_ms: part(0.99),
        max_ms: part(1),
        long_tasks: long.length,
        heap_mib: Number((performance.memory.usedJSHeapSize / 1048576).toFixed(1)),
        cards: document.querySelectorAll('.card').length,
      });
    };
    requestAnimationFrame(next);
  }), seconds * 1000);
  result.steps_per_second = Math.round((fleet.sent - before) / seconds);
  fleet.end();
  await context.close();
  return { agents, rate, seconds, ...result, problems };
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const missing = missingRequirement();
  if (missing) {
    console.error(missing);
    process.exit(1);
  }
  const server = await Server.start();
  const browser = await launchBrowser();
  try {
    const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
    console.log(JSON.stringify(await measure(numbers, browser, server)));
  } finally {
    await browser.close();
    await server.close();
  }
}
