// Chooses which agents are shown, and in which order.

import { byAttention } from './attention.js';
import { element } from './cards.js';
import { STATES, stateName, stateColour, stateWords, totalTokens } from './format.js';
import { callWords } from './words.js';

/** The states whose filter is always shown; others appear once an agent has been in them. */
const COMMON = new Set(['waiting_for_approval', 'failed', 'running_tool', 'writing', 'thinking', 'starting', 'idle', 'done']);

const ORDERS = {
  activity: (one, other) => other.lastAt - one.lastAt,
  name: (one, other) => one.label.localeCompare(other.label, 'en', { numeric: true }),
  cost: (one, other) => other.usage.cost_usd - one.usage.cost_usd,
  tokens: (one, other) => totalTokens(other.usage) - totalTokens(one.usage),
  errors: (one, other) => other.errors + other.violation_count - one.errors - one.violation_count,
};

export class Filters {
  constructor(find, changed) {
    this.text = find('filter-text');
    this.source = find('filter-source');
    this.sort = find('sort');
    this.states = new Set();
    this.chips = new Map();
    this.sources = '';
    this.chipRow = find('filter-states');
    this.changed = changed;
    for (const status of Object.keys(STATES)) this.makeChip(status);
    this.text.addEventListener('input', changed);
    this.source.addEventListener('change', changed);
    this.sort.addEventListener('change', changed);
  }

  makeChip(status) {
    const name = stateName(status);
    const { short, words, sign } = STATES[status] ?? { short: name, words: name, sign: '?' };
    const chip = element('button');
    chip.type = 'button';
    chip.title = words;
    chip.hidden = !COMMON.has(status);
    chip.setAttribute('aria-pressed', 'false');
    chip.style.setProperty('--state', stateColour(status));
    const mark = element('span', 'sign');
    mark.setAttribute('aria-hidden', 'true');
    mark.textContent = sign;
    const number = element('b');
    number.textContent = '0';
    chip.append(mark, `${short} `, number);
    chip.dataset.status = status;
    chip.dataset.count = '0';
    chip.addEventListener('click', () => {
      if (!this.states.delete(status)) this.states.add(status);
      chip.setAttribute('aria-pressed', String(this.states.has(status)));
      this.changed();
    });
    this.chips.set(status, { chip, number });
    this.chipRow.append(chip);
  }

  /** Whether the order depends on values that change constantly. */
  get isVolatile() {
    return ['attention', 'activity', 'cost', 'tokens', 'errors'].includes(this.sort.value);
  }

  /** Whether the agents are filtered by text. */
  get hasText() {
    return this.text.value.trim() !== '';
  }

  get isActive() {
    return this.text.value.trim() !== '' || this.states.size > 0 || this.source.value !== '';
  }

  clear() {
    this.text.value = '';
    this.source.value = '';
    this.states.clear();
    for (const { chip } of this.chips.values()) chip.setAttribute('aria-pressed', 'false');
  }

  /** Returns the agents to show, sorted. Equal ones stay in order of arrival. */
  choose(agents, now) {
    const searched = this.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = [];
    for (const agent of agents) {
      if (this.states.size > 0 && !this.states.has(agent.status)) continue;
      if (this.source.value !== '' && agent.source !== this.source.value) continue;
      if (searched.length > 0 && !matches(agent, searched)) continue;
      chosen.push(agent);
    }
    if (this.sort.value === 'attention') return byAttention(chosen, now);
    const order = ORDERS[this.sort.value];
    if (order) chosen.sort(order);
    return chosen;
  }

  /** Shows how many agents are in each state and of each source. */
  showCounts(totals) {
    for (const status of Object.keys(totals.states)) {
      if (!this.chips.has(status)) this.makeChip(status);
      this.chips.get(status).chip.hidden = false;
    }
    for (const [status, { chip, number }] of this.chips) {
      const words = String(totals.states[status] ?? 0);
      if (chip.dataset.count === words) continue;
      chip.dataset.count = words;
      number.textContent = words;
    }
    const names = [...totals.sources.keys()].filter(Boolean).sort();
    if (names.join('\n') === this.sources) return;
    this.sources = names.join('\n');
    const chosen = this.source.value;
    const options = names.map((name) => new Option(name, name, false, name === chosen));
    this.source.replaceChildren(new Option('all', ''), ...options);
    // The selected filter stays even if its last agent has left.
    if (chosen && !names.includes(chosen)) this.source.append(new Option(chosen, chosen, false, true));
  }
}

/** Returns whether every word occurs in the data of the agent, its messages or its tools. */
function matches(agent, searched) {
  const about = [agent.label, agent.id, agent.source, agent.model, agent.cwd, agent.tool, agent.error, agent.detached, agent.prompt,
    agent.status, stateWords(agent)].filter(Boolean).join('\n').toLowerCase();
  const calls = [...agent.running, ...agent.approvals];
  return searched.every((word) => about.includes(word)
    || calls.some((call) => call.name.toLowerCase().includes(word) || callWords(call).includes(word)
      || call.message?.toLowerCase().includes(word))
    || agent.words.has(word));
}
