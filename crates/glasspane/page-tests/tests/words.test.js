// Searches, without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyRecord, newAgent } from '../../assets/tracker.js';
import { Words } from '../../assets/words.js';

test('searchable text is bounded and loses its oldest part', () => {
  const words = new Words();
  for (let number = 0; number < 5000; number += 1) words.add(`Result number-${number}. ${'x'.repeat(200)}`);
  assert.ok(words.size <= 16 * 1024, `${words.size}`);
  assert.equal(words.has('number-4999.'), true);
  assert.equal(words.has('number-1.'), false);
  // Dropped text is no longer found.
  assert.equal(words.has('number-4970.'), true);
  for (let number = 0; number < 200; number += 1) words.add('y'.repeat(200));
  assert.equal(words.has('number-4970.'), false);
  words.add('z'.repeat(1_000_000));
  assert.ok(words.size <= 16 * 1024);
  // With very many agents, each keeps less.
  words.limit(20_000);
  assert.ok(words.size <= 4096, `${words.size}`);
  for (let number = 0; number < 100; number += 1) words.has(`word ${number}`);
  assert.ok(words.known.size <= 16);
});

test('streamed text is found however it is split', () => {
  const text = Array.from({ length: 900 }, (_, number) => `word-${number}`).join(' ');
  const words = new Words();
  for (let at = 0; at < text.length; at += 7) words.extend(text.slice(at, at + 7));
  for (let number = 0; number < 900; number += 1) assert.equal(words.has(`word-${number}`), true, `${number}`);
  words.finish(text);
  assert.equal(words.has('word-899'), true);
  assert.ok(words.size < text.length * 1.2, 'the text is not kept twice');
});

test('each piece is searched once', () => {
  const words = new Words();
  let searches = 0;
  const piece = { length: 1, includes: () => { searches += 1; return false; } };
  for (let number = 0; number < 50; number += 1) words.pieces.push(piece);
  for (let time = 0; time < 20; time += 1) words.has('nothing');
  assert.equal(searches, 50);
  words.pieces.push(piece);
  words.has('nothing');
  assert.equal(searches, 51);
});

test('an agent that works for hours does not grow', () => {
  const agent = newAgent('a1', 0);
  for (let step = 0; step < 3000; step += 1) {
    const id = `c${step}`;
    for (const event of [
      { type: 'turn_start', step },
      { type: 'message_update', role: 'assistant', text: `thought number ${step} ${'x'.repeat(500)}` },
      { type: 'tool_execution_start', tool_id: id, tool_name: 'bash' },
      { type: 'tool_execution_update', tool_id: id, arguments: true, whole: true, text: JSON.stringify({ command: `run ${step} ${'y'.repeat(20_000)}` }) },
      { type: 'tool_execution_end', tool_id: id, text: 'z'.repeat(1000) },
      { type: 'turn_end', stop: 'end' },
    ]) applyRecord(agent, { at_ms: step, agent: 'a1', event });
  }
  assert.equal(agent.words.has('number 2999'), true);
  const { words, ...rest } = agent;
  assert.ok(words.size <= 16 * 1024);
  assert.ok(JSON.stringify(rest).length < 600_000, `${JSON.stringify(rest).length}`);
});
