// The figures and charts of all agents together.

import { element } from './cards.js';
import { drawSums } from './charts.js';
import { count, dollars } from './format.js';

const TOKEN_LINES = [
  { colour: 'tokens-cache', words: 'cached', value: (sums) => sums.cache },
  { colour: 'tokens-input', words: 'input', value: (sums) => sums.input },
  { colour: 'tokens-output', words: 'output', value: (sums) => sums.output },
];
const COST_LINES = [{ colour: 'cost', words: 'cost', value: (sums) => sums.cost }];
const MAX_SPENDERS = 3;
/** The period over which events per second are counted. */
const RATE_SPAN = 3000;

export class Overview {
  constructor(find) {
    this.find = find;
    this.tokens = find('chart-tokens');
    this.cost = find('chart-cost');
    this.rates = [];
    this.figures = TOKEN_LINES.map((line) => {
      const key = element('span', 'key');
      key.style.setProperty('--key', `var(--${line.colour})`);
      find('fleet-tokens').append(key);
      return key;
    });
  }

  resize() {
    this.size = null;
  }

  draw(model, shown, now, at) {
    const totals = model.totals();
    const waiting = totals.states.waiting_for_approval ?? 0;
    const title = waiting > 0 ? `(${waiting}) Glasspane` : 'Glasspane';
    if (document.title !== title) document.title = title;
    this.put('total-agents', String(totals.agents));
    this.put('total-active', String(totals.active));
    this.put('total-tokens', count(totals.tokens));
    this.put('total-cost', dollars(totals.cost));
    this.put('total-rate', count(this.rate(model.events, at)));
    TOKEN_LINES.forEach((line, index) => {
      const words = `${count(line.value(model.sums))} ${line.words}`;
      if (this.figures[index].textContent !== words) this.figures[index].textContent = words;
    });
    this.put('fleet-cost', dollars(model.sums.cost));
    this.put('fleet-hourly', this.hourly(model, now));
    this.size ??= { width: this.tokens.clientWidth, height: this.tokens.clientHeight };
    if (this.size.width > 0) {
      drawSums(this.tokens, model.fleet, TOKEN_LINES, now, this.size.width, this.size.height, count);
      drawSums(this.cost, model.fleet, COST_LINES, now, this.size.width, this.size.height, dollars);
    }
    this.spenders(shown);
  }

  /** Returns the cost per hour at the rate that the chart shows. */
  hourly(model, now) {
    const first = model.fleet.points[0];
    if (!first || now - first.at < 20_000) return '';
    const spent = model.sums.cost - first.values.cost;
    if (!(spent > 0)) return '';
    return ` · ${dollars((spent / (now - first.at)) * 3_600_000)} per hour`;
  }

  rate(events, at) {
    const rates = this.rates;
    if (rates.length > 0 && events < rates.at(-1).events) rates.length = 0;
    rates.push({ at, events });
    while (rates.length > 2 && at - rates[0].at > RATE_SPAN) rates.shift();
    const first = rates[0];
    return at > first.at ? ((events - first.events) / (at - first.at)) * 1000 : 0;
  }

  spenders(shown) {
    const most = [];
    for (const agent of shown) {
      if (agent.usage.cost_usd <= 0) continue;
      most.push(agent);
      most.sort((one, other) => other.usage.cost_usd - one.usage.cost_usd);
      most.length = Math.min(most.length, MAX_SPENDERS);
    }
    const words = most.map((agent) => `${agent.id} ${agent.label} ${agent.usage.cost_usd}`).join('\n');
    if (words === this.spent) return;
    this.spent = words;
    this.find('spenders').replaceChildren(...most.map((agent) => {
      const item = element('li');
      item.style.setProperty('--share', `${(agent.usage.cost_usd / most[0].usage.cost_usd) * 100}%`);
      const name = element('span');
      name.textContent = agent.label;
      const cost = element('span');
      cost.textContent = dollars(agent.usage.cost_usd);
      item.append(name, cost);
      return item;
    }));
  }

  put(id, words) {
    const target = this.find(id);
    if (target.textContent !== words) target.textContent = words;
  }
}
