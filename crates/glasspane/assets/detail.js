// The details of one agent.

import { costWords, count, dollars, duration, plural, retryWords, stateWords, timeOfDay } from './format.js';
import { drawLanes } from './timeline.js';
import { drawSums } from './charts.js';
import { element } from './cards.js';
import { harmless } from './arguments.js';
import { waitingSince } from './attention.js';
import { Calls } from './calls.js';
import { stateColour } from './format.js';

const TOKEN_LINES = [
  { colour: 'tokens-cache', words: 'cached', value: (usage) => usage.cache_read_tokens + usage.cache_write_tokens },
  { colour: 'tokens-input', words: 'input', value: (usage) => usage.input_tokens },
  { colour: 'tokens-output', words: 'output', value: (usage) => usage.output_tokens },
];
const COST_LINES = [{ colour: 'cost', words: 'cost', value: (usage) => usage.cost_usd }];

const MAX_ABOUT = 300;
const SHORTEST_SPAN = 10_000;
/** The heights in detail.css. */
const LANES_HEIGHT = 80;
const CHART_HEIGHT = 60;

export class Detail {
  constructor(root, close) {
    this.root = root;
    this.agentId = null;
    this.build(close);
    new ResizeObserver(() => { this.width = 0; }).observe(root);
  }

  build(close) {
    const root = this.root;
    const header = element('header');
    this.title = element('h2');
    this.title.id = 'detail-title';
    this.title.tabIndex = -1;
    const closer = element('button', 'close');
    closer.type = 'button';
    closer.textContent = 'Close';
    closer.addEventListener('click', close);
    const names = element('div', 'names');
    this.origin = element('p', 'origin');
    names.append(this.title, this.origin);
    header.append(names, closer);

    const state = element('p', 'state');
    this.state = element('span');
    this.since = element('span', 'since');
    state.append(this.state, ' ', this.since);
    this.error = element('p', 'error');

    const approvals = element('ul', 'calls');
    const approvalSection = section('Waiting for approval', approvals);
    this.approvals = new Calls(approvalSection, approvals, 'for');
    const running = element('ul', 'calls');
    const runningSection = section('Running', running);
    this.running = new Calls(runningSection, running, 'for');

    this.facts = {};
    const facts = element('dl', 'facts');
    for (const [name, words, wide] of [
      ['turns', 'turns'], ['tools', 'tools'], ['errors', 'errors'], ['runtime', 'since start'],
      ['input', 'input'], ['output', 'output'], ['cache', 'cached'], ['cost', 'cost'],
      ['model', 'model', true], ['cwd', 'directory', true],
    ]) {
      const fact = element('div', wide ? 'wide' : '');
      const term = element('dt');
      term.textContent = words;
      this.facts[name] = element('dd');
      fact.append(term, this.facts[name]);
      facts.append(fact);
    }

    this.lanes = canvas('lanes', 'Timeline of turns, model and tools');
    this.tokens = canvas('usage', 'Tokens over time');
    this.cost = canvas('usage', 'Cost over time');
    const charts = element('div', 'charts');
    charts.append(section('Tokens', this.tokens), section('Cost', this.cost));

    this.stream = element('pre', 'stream');
    this.stream.tabIndex = 0;
    this.stream.setAttribute('role', 'group');
    this.stream.setAttribute('aria-label', 'Output of the model');
    this.violations = element('ul', 'violations');
    this.violationSection = section('Protocol violations', this.violations);
    this.hosts = element('ul', 'hosts');
    this.hostSection = section('Network', this.hosts);
    this.log = element('ol', 'log');
    this.log.tabIndex = 0;
    this.log.setAttribute('aria-label', 'Events');
    const events = section('Events', this.log);
    events.className = 'events';
    this.logCount = events.querySelector('small');
    root.append(header, state, this.error, approvalSection, runningSection, facts, section('Timeline', this.lanes), charts,
      section('Text', this.stream), this.hostSection, this.violationSection, events);
  }

  show(id) {
    this.agentId = id;
    this.root.hidden = false;
    document.body.dataset.detail = 'open';
    this.drawnLog = null;
    this.width = 0;
    this.log.replaceChildren();
    this.stream.textContent = '';
    this.drawnText = '';
    this.approvals.clear();
    this.running.clear();
  }

  hide() {
    this.agentId = null;
    this.root.hidden = true;
    delete document.body.dataset.detail;
  }

  draw(agent, now) {
    this.root.style.setProperty('--state', stateColour(agent.status));
    put(this.title, agent.label);
    put(this.origin, `${agent.source || 'unknown'} · ${agent.id}${agent.detached === null ? '' : ` · ${agent.detached}`}`);
    put(this.state, stateWords(agent));
    const waiting = agent.status === 'waiting_for_approval';
    put(this.since, `for ${duration(now - (waiting ? waitingSince(agent) : agent.since_ms))}`);
    put(this.error, agent.error ?? '');
    this.error.hidden = !agent.error;
    this.approvals.draw(agent.approvals, now);
    // A waiting tool is not shown twice.
    this.running.draw(agent.running.filter(({ id }) => !agent.approvals.some((approval) => approval.tool_id === id)), now);
    const usage = agent.usage;
    const facts = {
      turns: String(agent.turns),
      tools: agent.tool_errors > 0 ? `${agent.tools} (${agent.tool_errors} failed)` : String(agent.tools),
      errors: agent.unknown > 0 ? `${agent.errors} + ${agent.unknown} unknown` : String(agent.errors),
      runtime: duration(now - agent.started_ms),
      input: count(usage.input_tokens),
      output: count(usage.output_tokens),
      cache: count(usage.cache_read_tokens + usage.cache_write_tokens),
      cost: costWords(usage),
      model: agent.model ?? 'unknown',
      cwd: agent.cwd ?? 'unknown',
    };
    for (const [name, words] of Object.entries(facts)) put(this.facts[name], words);
    this.drawText(agent);
    this.drawHosts(agent);
    this.drawViolations(agent);
    this.drawLog(agent);
    if (!this.width) {
      this.width = this.lanes.clientWidth;
      this.chartWidth = this.tokens.clientWidth;
    }
    if (this.width > 0) {
      const end = agent.detached === null ? now : Math.max(agent.lastAt, agent.since_ms);
      const from = Math.max(agent.started_ms, agent.segments[0].start);
      const view = { from, to: Math.max(end, from + SHORTEST_SPAN), now: end };
      drawLanes(this.lanes, agent, view, this.width, LANES_HEIGHT);
      drawSums(this.tokens, agent.usageSeries, TOKEN_LINES, end, this.chartWidth, CHART_HEIGHT, count);
      drawSums(this.cost, agent.usageSeries, COST_LINES, end, this.chartWidth, CHART_HEIGHT, dollars);
    }
  }

  drawText(agent) {
    if (this.drawnText === agent.text) return;
    this.drawnText = agent.text;
    const stream = this.stream;
    const atEnd = stream.scrollHeight - stream.scrollTop - stream.clientHeight < 30;
    stream.textContent = harmless(agent.text);
    if (atEnd) stream.scrollTop = stream.scrollHeight;
  }

  /** What commands contacted through the sandbox, the latest first. */
  drawHosts(agent) {
    this.hostSection.hidden = agent.hosts.length === 0;
    const words = JSON.stringify(agent.hosts);
    if (this.hosts.dataset.words === words) return;
    this.hosts.dataset.words = words;
    this.hosts.replaceChildren(...[...agent.hosts].reverse().map((host) => {
      const item = element('li');
      if (!host.allowed) item.dataset.kind = 'refused';
      item.textContent = harmless(`${hostWords(host)}${host.times > 1 ? ` · ${host.times} calls` : ''}`);
      return item;
    }));
    const refused = agent.hosts.filter(({ allowed }) => !allowed).length;
    this.hostSection.querySelector('small').textContent = refused > 0 ? `${refused} refused` : '';
  }

  drawViolations(agent) {
    this.violationSection.hidden = agent.violation_count === 0;
    const words = agent.violations.join('\n');
    if (this.violations.dataset.words === words) return;
    this.violations.dataset.words = words;
    this.violations.replaceChildren(...agent.violations.map((violation) => {
      const item = element('li');
      item.textContent = harmless(violation);
      return item;
    }));
    this.violationSection.querySelector('small').textContent =
      agent.violation_count > agent.violations.length ? `the last of ${agent.violation_count}` : '';
  }

  /** Newest at the end; only new entries are added. */
  drawLog(agent) {
    const records = agent.log;
    const last = records.at(-1);
    if (this.drawnLog === last) return;
    const log = this.log;
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
    const known = this.drawnLog ? records.lastIndexOf(this.drawnLog) : -1;
    if (known < 0) log.replaceChildren();
    log.append(...records.slice(known + 1).map(row));
    while (log.childElementCount > records.length) log.firstElementChild.remove();
    this.drawnLog = last;
    put(this.logCount, plural(records.length, 'event'));
    if (atEnd) log.scrollTop = log.scrollHeight;
  }
}

function row(record) {
  const { what, about, kind } = describe(record);
  const item = element('li');
  if (kind) item.dataset.kind = kind;
  const time = element('time');
  time.textContent = timeOfDay(record.at_ms);
  const name = element('span', 'what');
  name.textContent = what;
  const words = element('span', 'about');
  words.textContent = harmless(about);
  words.title = words.textContent;
  item.append(time, name, words);
  return item;
}

function describe({ event, usage, attached, detached }) {
  if (attached) return { what: 'attached', about: [attached.label, attached.source, attached.model].filter(Boolean).join(' · ') };
  if (detached) return { what: 'detached', about: detached.reason ?? '', kind: detached.failed ? 'error' : '' };
  if (usage) {
    return { what: 'usage', about: `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out, ${costWords(usage)}` };
  }
  if (!event) return { what: 'empty', about: '' };
  const parts = [];
  if (event.step !== undefined) parts.push(`step ${event.step}`);
  if (event.tool_name) parts.push(event.tool_name);
  if (event.raw_type) parts.push(event.raw_type);
  if (event.stop) parts.push(`stop: ${event.stop}`);
  if (event.is_error) parts.push('failed');
  if (event.retry) parts.push(retryWords(event.retry));
  if (event.network) parts.push(event.network.map(hostWords).join(', '));
  if (event.message) parts.push(event.message);
  if (event.text) parts.push(event.text.slice(0, MAX_ABOUT).replace(/\s+/g, ' '));
  let kind = '';
  if (event.type === 'error' || event.is_error || event.stop === 'error') kind = 'error';
  else if (event.type.startsWith('tool_')) kind = 'tool';
  else if (event.type.startsWith('turn_') || event.type.startsWith('agent_')) kind = 'turn';
  else if (event.type.startsWith('approval_') || event.type === 'unknown') kind = 'wait';
  const what = event.type.replace('tool_execution', 'tool').replaceAll('_', ' ');
  return { what: event.role === 'user' ? 'user message' : what, about: parts.join(' · ').slice(0, MAX_ABOUT), kind };
}

function hostWords({ host, port, allowed }) {
  return `${allowed ? '' : 'refused '}${host}:${port}`;
}

function section(title, content) {
  const made = element('section');
  const heading = element('h3');
  heading.append(title, element('small'));
  made.append(heading, content);
  return made;
}

function canvas(className, label) {
  const made = element('canvas', className);
  made.setAttribute('role', 'img');
  made.setAttribute('aria-label', label);
  return made;
}

function put(target, words) {
  const shown = harmless(words);
  if (target.textContent !== shown) target.textContent = shown;
}
