// All agents, from the live feed or from a log, and what has changed since the page was last drawn.

import { adopt, applyRecord, newAgent, overlay } from './tracker.js';
import { Series } from './series.js';
import { ACTIVE } from './format.js';

export class Model {
  constructor() {
    this.clear();
  }

  clear() {
    this.agents = new Map();
    this.dirty = new Set();
    /** Agents were added, or a value that filters or sorts them has changed. */
    this.isOrderStale = true;
    /** New text can be searched. */
    this.hasNewText = false;
    this.fleet = new Series();
    this.sums = { input: 0, output: 0, cache: 0, cost: 0 };
    this.events = 0;
    this.seq = 0;
    this.lastAt = 0;
  }

  /** Replaces everything with a snapshot of the server. */
  snapshot({ seq, agents, history }) {
    this.clear();
    const records = Object.values(history ?? {}).flat();
    records.sort((one, other) => one.seq - other.seq);
    for (const state of agents) this.agents.set(state.id, newAgent(state.id, state.started_ms));
    for (const record of records) this.apply(record);
    for (const state of agents) {
      const agent = this.agents.get(state.id);
      overlay(agent, state);
      agent.text = state.last_text ?? '';
      adopt(agent);
      // Deltas of text or of arguments are not part of a history.
      agent.words.add(state.tool_text);
      agent.words.extend(agent.text);
    }
    this.seq = seq;
    this.events = 0;
  }

  batch({ records, agents }) {
    for (const record of records) this.apply(record);
    for (const state of agents ?? []) {
      const agent = this.agents.get(state.id);
      if (!agent) continue;
      const { status } = agent;
      overlay(agent, state);
      if (agent.status !== status) this.isOrderStale = true;
    }
  }

  apply(record) {
    let agent = this.agents.get(record.agent);
    if (!agent) {
      agent = newAgent(record.agent, record.at_ms);
      this.agents.set(record.agent, agent);
      this.isOrderStale = true;
    }
    const status = agent.status;
    const usage = agent.usage;
    applyRecord(agent, record);
    if (record.usage) this.addUsage(record.at_ms, usage, agent.usage);
    if (agent.status !== status || record.attached) this.isOrderStale = true;
    if (record.event) {
      this.hasNewText = true;
      agent.words.limit(this.agents.size);
    }
    this.dirty.add(agent.id);
    this.seq = record.seq;
    this.lastAt = Math.max(this.lastAt, record.at_ms);
    this.events += 1;
  }

  /** Adds the change in usage of one agent to the totals. */
  addUsage(at, before, after) {
    const sums = this.sums;
    sums.input += after.input_tokens - before.input_tokens;
    sums.output += after.output_tokens - before.output_tokens;
    sums.cache += after.cache_read_tokens + after.cache_write_tokens - before.cache_read_tokens - before.cache_write_tokens;
    sums.cost += after.cost_usd - before.cost_usd;
    this.fleet.push(at, { ...sums });
  }

  totals() {
    const totals = { agents: this.agents.size, active: 0, tokens: 0, cost: 0, states: {}, sources: new Map() };
    for (const agent of this.agents.values()) {
      if (ACTIVE.has(agent.status)) totals.active += 1;
      totals.states[agent.status] = (totals.states[agent.status] ?? 0) + 1;
      totals.sources.set(agent.source, (totals.sources.get(agent.source) ?? 0) + 1);
      const usage = agent.usage;
      totals.tokens += usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
      totals.cost += usage.cost_usd;
    }
    return totals;
  }
}
