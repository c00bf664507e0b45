// Compares the tracker of the page, which a replay uses, with that of the server.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Model } from '../../assets/model.js';
import { parseLog } from '../../assets/replay.js';
import { Server, missingRequirement } from '../harness.js';
import { makeRecords, toLog } from '../recording.js';
import { random } from '../fleet.js';
import { until } from './setup.js';

const TYPES = ['agent_start', 'agent_end', 'turn_start', 'turn_end', 'message_start', 'message_update', 'message_end',
  'tool_execution_start', 'tool_execution_update', 'tool_execution_end', 'approval_request', 'approval_end', 'retry', 'notice', 'error', 'unknown'];

/** Arguments of calls: complete, in deltas, invalid. */
const ARGUMENTS = ['{"command":"ls', ' -l","timeout":60}', '{"content":"fn main() {}\\n\\ttwo","path":"src/main.rs"}',
  '{"command":["bash","-lc","cargo test"],"n":[1,{"a":"}"}]}', '{"command":"a\\u001b[2J\\u202eb\\ud83d\\ude00\\ud800c\\u12',
  '["a","b"]', '"quoted \\"text\\""', '{}', '{ "x" : null , "Path":"p q" }', '{nonsense}', `/bin/bash -lc 'echo '\\''hi'\\'''`, `bash -lc 'a' 'b'`, `{"query":"${'long '.repeat(80)}"}`];

/** Records in any order, valid or not. */
function wildRecords(seed, count) {
  const chance = random(seed);
  const pick = (list) => list[Math.floor(chance() * list.length)];
  const maybe = (name, values) => (chance() < 0.5 ? { [name]: pick(values) } : {});
  const records = [];
  for (let seq = 1; seq <= count; seq += 1) {
    const record = { seq, at_ms: 1_790_000_000_000 + seq * 10, agent: pick(['one', 'two', 'three']) };
    const kind = chance();
    if (kind < 0.02) record.detached = { reason: 'gone', ...maybe('failed', [true]), ...maybe('interrupted', [true]), ...maybe('exit_code', [0, 1]) };
    else if (kind < 0.05) record.attached = { label: record.agent, source: pick(['zot', 'pi']), ...maybe('model', ['m1', 'm2']), ...maybe('parent', ['one']) };
    else if (kind < 0.1) record.usage = { input_tokens: seq, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 1, cost_usd: seq / 64, ...maybe('cost_basis', ['told', 'estimated']) };
    else {
      record.event = {
        type: pick(TYPES),
        ...maybe('role', ['user', 'assistant']),
        ...maybe('text', ['a ', 'longer text ', '', 'ä', ...ARGUMENTS]),
        ...maybe('whole', [true]),
        ...maybe('tool_id', ['c1', 'c2', 'c3']),
        ...maybe('tool_name', ['bash', 'read']),
        ...maybe('is_error', [true, false]),
        ...maybe('step', [1, 2]),
        ...maybe('stop', ['end', 'tool_use', 'error', 'aborted', 'length']),
        ...maybe('message', ['went wrong']),
        ...maybe('raw_type', ['response', 'other']),
        ...maybe('retry', [{ attempt: 1, max_attempts: 3, delay_ms: 500, status: 529 }]),
        ...maybe('network', [[{ host: 'a.org', port: 443, allowed: true }], [{ host: 'a.org', port: 443, allowed: false }, { host: 'b', port: 80, allowed: true }]]),
        ...maybe('thinking', [true, false]),
        ...maybe('arguments', [true, false]),
      };
    }
    records.push(record);
  }
  return records;
}

/** The fields that must be equal. The server assigns its own ids. */
function comparable(agent) {
  const names = ['label', 'source', 'status', 'since_ms', 'started_ms', 'turns', 'tools', 'tool_errors', 'errors', 'unknown', 'violation_count', 'usage'];
  const fields = Object.fromEntries(names.map((name) => [name, agent[name]]));
  for (const name of ['tool', 'error', 'detached', 'retry', 'model', 'cwd']) fields[name] = agent[name] ?? null;
  fields.violations = agent.violations ?? [];
  fields.hosts = agent.hosts ?? [];
  fields.prompt = agent.prompt ?? '';
  const call = ({ id, tool_id, name = '', since_ms, summary = '', arguments: given = '', cut = false, message = '' }) => (
    { id, tool_id, name, since_ms, summary, given, cut, message });
  fields.running = (agent.running ?? []).map(call);
  fields.approvals = (agent.approvals ?? []).map(call);
  fields.text = (agent.last_text ?? agent.text).slice(-500);
  return fields;
}

/** The server assigns its own ids to the agents of a log, so parents are compared by their position in the list. */
function comparables(agents) {
  const ids = agents.map((agent) => agent.id);
  return agents.map((agent) => ({ ...comparable(agent), parent: ids.indexOf(agent.parent) }));
}

async function check(records) {
  const server = new Server();
  const path = join(server.directory, 'log.jsonl');
  writeFileSync(path, toLog(records));
  await server.start('--file', path);
  try {
    let snapshot;
    const agents = new Set(records.map((record) => record.agent)).size;
    await until(async () => {
      const before = snapshot?.seq;
      snapshot = await server.snapshot();
      return snapshot.agents.length === agents && snapshot.seq === before && snapshot.seq > 0;
    }, 'the server has read the log');
    const model = new Model();
    for (const record of parseLog(toLog(records)).records) model.apply(record);
    assert.deepEqual(comparables([...model.agents.values()]), comparables(snapshot.agents));
  } finally {
    await server.close();
    rmSync(path, { force: true });
  }
}

test('the timeline never changes past segments', () => {
  for (const seed of [4, 5, 6]) {
    const model = new Model();
    const shown = new Map();
    for (const record of wildRecords(seed, 500)) {
      model.apply(record);
      const { segments } = model.agents.get(record.agent);
      const before = shown.get(record.agent) ?? [];
      before.forEach(({ status, tool, start, end }, index) => {
        const now = segments[index];
        assert.deepEqual([now.status, now.tool, now.start], [status, tool, start], `seed ${seed}, record ${record.seq}`);
        // An open span may end; an ended one does not change.
        if (end !== null) assert.equal(now.end, end);
      });
      shown.set(record.agent, segments.map((segment) => ({ ...segment })));
    }
  }
});

const skip = missingRequirement() || false;

test('a valid log yields the same states in the page and in the server', { skip }, () => check(makeRecords(9, 60)));

for (const seed of [1, 2, 3]) {
  test(`an arbitrary log yields the same states, too: seed ${seed}`, { skip }, () => check(wildRecords(seed, 1500)));
}
