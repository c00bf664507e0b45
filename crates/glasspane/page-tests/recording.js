// A made-up but valid log: what `glasspane tail` would print for some agents.

import { random } from './fleet.js';

const START = 1_790_000_000_000;

/** Records of `count` agents over `seconds`, in order. */
export function makeRecords(count, seconds, seed = 11) {
  const chance = random(seed);
  const records = [];
  for (let index = 0; index < count; index += 1) {
    const agent = `a${index + 1}`;
    let at = START + index * 400;
    const end = START + seconds * 1000;
    const put = (what, pause = 0) => {
      records.push({ seq: 0, at_ms: at, agent, ...what });
      at += Math.round(pause * (0.5 + chance()));
    };
    const event = (type, more = {}, pause = 0) => put({ event: { type, ...more } }, pause);
    const usage = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: 0 };
    put({ attached: { label: `recorded ${index + 1}`, source: index % 3 === 2 ? 'codex' : 'zot', model: 'offline' } }, 300);
    let step = 0;
    event('message_update', { role: 'user', text: 'count the files', whole: true }, 50);
    while (at < end - 3000) {
      step += 1;
      event('turn_start', { step }, 600);
      event('message_start', { role: 'assistant' }, 200);
      for (const word of ['There ', 'are ', `${step * 7} `, 'files ', 'in ', 'the ', 'directory.']) {
        event('message_update', { role: 'assistant', text: word }, 90);
      }
      const id = `c${step}`;
      const name = ['bash', 'read', 'grep'][step % 3];
      event('tool_execution_start', { tool_id: id, tool_name: name }, 100);
      event('message_end', { role: 'assistant', text: `There are ${step * 7} files in the directory.`, whole: true }, 10);
      if (step % 4 === 2) event('approval_request', { tool_id: id, tool_name: name }, 800);
      event('turn_end', { stop: 'tool_use' }, 20);
      event('tool_execution_update', { tool_id: id, text: 'working\n' }, 700);
      event('tool_execution_end', { tool_id: id, text: 'ok', whole: true, is_error: step % 5 === 0 }, 50);
      usage.input_tokens += 900;
      usage.output_tokens += 60 + step;
      usage.cache_read_tokens += 2000;
      // Exact in binary: parsers differ in the last digit of other numbers.
      usage.cost_usd += 1 / 256;
      put({ usage: { ...usage } }, 100);
    }
    if (index % 4 === 1) {
      event('error', { message: 'http 529: overloaded' });
    } else if (index % 4 === 2) {
      event('tool_execution_end', { tool_id: 'never', text: '', is_error: false }, 20);
      event('agent_end');
    } else {
      event('agent_end');
    }
    put({ detached: { reason: 'exit code 0' } });
  }
  records.sort((one, other) => one.at_ms - other.at_ms);
  records.forEach((record, index) => { record.seq = index + 1; });
  return records;
}

export function toLog(records) {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}
