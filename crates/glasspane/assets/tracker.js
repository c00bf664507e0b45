// Tracks what an agent is doing by the same rules as src/tracker.rs, which a test compares with this. The
// state of the server takes precedence while connected; a replay has only this. It also keeps the data of
// the timelines and charts.

import { isObject, oneLine, summary } from './arguments.js';
import { Series } from './series.js';
import { Words, index } from './words.js';

const MAX_TEXT = 8192;
/** How much of each text the log of an agent keeps; text to search is kept elsewhere. */
const MAX_LOG_TEXT = 320;
const MAX_NAME = 1024;
/** The arguments kept of one call, and of all running calls. */
const MAX_ARGUMENTS = 8192;
const MAX_ALL_ARGUMENTS = 32768;
const EAGER_ARGUMENTS = 512;
const MAX_APPROVALS = 16;
const MAX_SPANS = 600;
const MAX_LOG = 300;
const MAX_VIOLATIONS = 20;
const MAX_HOSTS = 64;
const MAX_OPEN_TOOLS = 256;
const WORKING = new Set(['thinking', 'writing', 'running_tool', 'waiting_for_approval', 'retrying']);
/** Events that do not imply that the agent is working. */
const NOT_WORK = new Set(['agent_end', 'notice', 'error', 'unknown']);

export function newAgent(id, at) {
  return {
    id,
    label: id,
    source: '',
    cwd: null,
    model: null,
    parent: null,
    status: 'starting',
    tool: null,
    /** Running tools, oldest first: { id, name, since_ms, summary, arguments, cut }. */
    running: [],
    /** Pending approvals: { tool_id, name, since_ms, summary, arguments, cut, message }. */
    approvals: [],
    prompt: '',
    since_ms: at,
    started_ms: at,
    turns: 0,
    tools: 0,
    errors: 0,
    tool_errors: 0,
    unknown: 0,
    violations: [],
    violation_count: 0,
    /** Contacted hosts, the latest last: { host, port, allowed, times }. */
    hosts: [],
    usage: noUsage(),
    error: null,
    detached: null,
    retry: null,
    text: '',
    lastAt: at,
    // For drawing: spans are { start, end or null, … }, oldest first.
    segments: [{ status: 'starting', tool: null, start: at, end: null }],
    turnSpans: [],
    errorMarks: [],
    usageSeries: new Series(),
    log: [],
    words: new Words(),
    // The internal state of the tracker.
    work: {
      turnOpen: false, openTools: [], approvals: 0, textComplete: true,
      failed: false, interrupted: false, cutShort: false, counted: false, started: false, understood: false, over: false,
    },
  };
}

function noUsage() {
  return { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: 0 };
}

/** Applies the state of the server; keeps the data for drawing. */
export function overlay(agent, state) {
  const before = agent.running;
  for (const [name, value] of Object.entries(state)) {
    if (name !== 'last_text' && name !== 'tool_text') agent[name] = value;
  }
  for (const name of ['tool', 'error', 'detached', 'retry', 'cwd', 'model', 'parent']) if (!(name in state)) agent[name] = null;
  if (!('violations' in state)) agent.violations = [];
  if (!('hosts' in state)) agent.hosts = [];
  const segment = agent.segments.at(-1);
  if (segment.status !== agent.status) addSegment(agent, agent.status, Math.max(agent.since_ms, segment.start));
  // After a snapshot, arguments only arrive in records.
  agent.running = (state.running ?? []).map((tool) => ({ arguments: '', ...before.find(({ id }) => id === tool.id), ...tool }));
  const runs = (id) => agent.running.some((tool) => tool.id === id);
  agent.approvals = (state.approvals ?? []).map((approval) => ({ name: '', summary: '', arguments: '', ...approval, linked: runs(approval.tool_id) }));
}

/** After a snapshot, adopts the running tools and pending approvals, because a shortened history may differ. */
export function adopt(agent) {
  const isWaiting = (id) => agent.approvals.some((approval) => approval.tool_id === id);
  agent.work.openTools = agent.running.map(({ id, name }) => ({ id, name, waits: isWaiting(id) }));
  agent.work.approvals = agent.approvals.filter((approval) => !approval.linked).length;
}

export function applyRecord(agent, record) {
  const at = record.at_ms;
  agent.lastAt = at;
  if (record.attached) attached(agent, record.attached, at);
  if (record.usage) {
    agent.usage = mergeUsage(agent.usage, record.usage);
    agent.usageSeries.push(at, agent.usage);
  }
  if (record.event) {
    index(agent, record);
    checkOrder(agent, record.event);
    const known = record.event.type in EVENTS;
    if (known && !NOT_WORK.has(record.event.type)) agent.work.started = true;
    if (known && record.event.type !== 'notice' && record.event.type !== 'unknown') agent.work.understood = true;
    EVENTS[record.event.type]?.(agent, record.event, at);
  }
  if (record.detached) detached(agent, record.detached, at);
  if (isLogged(record)) {
    agent.log.push(shortened(record));
    if (agent.log.length > MAX_LOG) agent.log.splice(0, agent.log.length - MAX_LOG);
  }
}

/** Deltas of text and progress are shown elsewhere. */
function isLogged({ event }) {
  if (!event) return true;
  if (event.type === 'message_update') return event.role === 'user';
  return event.type !== 'tool_execution_update';
}

/** Usage never decreases. */
function mergeUsage(before, now) {
  const merged = { ...before };
  for (const name of ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens']) {
    merged[name] = Math.max(before[name], now[name] ?? 0);
  }
  if ((now.cost_usd ?? 0) >= before.cost_usd) {
    merged.cost_usd = now.cost_usd ?? 0;
    if (now.cost_basis) merged.cost_basis = now.cost_basis;
  }
  return merged;
}

function attached(agent, { label, source, cwd, model, parent }, at) {
  agent.label = label || agent.id;
  agent.source = source ?? '';
  agent.cwd = cwd ?? agent.cwd;
  agent.model = model ?? agent.model;
  agent.parent = parent ?? agent.parent;
  if (agent.detached !== null) {
    agent.detached = null;
    clearWork(agent, at);
    clearOutcome(agent);
    agent.work.started = false;
    agent.usage = noUsage();
    enter(agent, 'starting', at);
  }
}

function detached(agent, { reason, failed, interrupted }, at) {
  const status = finalStatus(agent, failed, interrupted);
  agent.detached = reason ?? '';
  clearWork(agent, at);
  agent.work.started = false;
  if (status === 'failed') {
    countFailure(agent);
    agent.error ??= agent.detached;
  }
  enter(agent, status, at);
}

/** Returns the final status: first what the agent reported, then how its process ended. A stream that was cut off was interrupted. */
function finalStatus(agent, failed, interrupted) {
  const work = agent.work;
  if (work.over) return agent.status === 'done' && failed && !interrupted ? 'failed' : agent.status;
  if (work.failed) return 'failed';
  if (work.interrupted || interrupted) return 'interrupted';
  if (failed) return 'failed';
  if (work.started) return 'interrupted';
  return agent.unknown > 0 && !work.understood ? 'not_understood' : 'done';
}

/** Checks that after the end only a new prompt, or a retry, continues the work. */
function checkOrder(agent, event) {
  if (!agent.work.over) return;
  if (['notice', 'error', 'unknown'].includes(event.type) || !(event.type in EVENTS)) return;
  const restarts = event.type === 'agent_start' || event.type === 'retry' || (event.type.startsWith('message_') && event.role === 'user');
  if (!restarts) violation(agent, `${event.type} after the end`);
  agent.work.over = false;
}

const EVENTS = {
  agent_start: startPrompt,
  agent_end(agent, event, at) {
    const work = agent.work;
    if (event.stop === 'aborted') {
      work.interrupted = true;
      work.failed = false;
      work.cutShort = true;
    } else if (event.stop === 'error') {
      work.failed = true;
      work.cutShort = true;
    }
    if (!work.cutShort) {
      if (work.turnOpen) violation(agent, 'the agent ended within a turn');
      for (const tool of work.openTools) violation(agent, `tool ${tool.id} (${tool.name}) never ended`);
    }
    clearWork(agent, at);
    work.over = true;
    work.started = false;
    if (work.failed) countFailure(agent);
    enter(agent, work.failed ? 'failed' : work.interrupted ? 'interrupted' : 'done', at);
  },
  turn_start(agent, event, at) {
    const work = agent.work;
    if (work.turnOpen) violation(agent, `turn${event.step === undefined ? '' : ` ${event.step}`} started within a turn`);
    endTurn(agent, at);
    addSpan(agent.turnSpans, { step: event.step ?? null, start: at, end: null });
    work.turnOpen = true;
    work.cutShort = false;
    work.approvals = 0;
    agent.turns += 1;
    settle(agent, 'thinking', at);
  },
  turn_end(agent, event, at) {
    const work = agent.work;
    // An error ends the turn as well; some agents report both.
    if (!work.turnOpen && !work.cutShort) violation(agent, 'a turn ended that was not started');
    endTurn(agent, at);
    work.approvals = 0;
    if (event.stop === 'error') work.failed = true;
    if (event.stop === 'aborted') work.interrupted = true;
    if (['error', 'aborted', 'length'].includes(event.stop)) work.cutShort = true;
    // Calls that were still being written never start.
    if (work.cutShort) work.openTools = [];
    if (event.message !== undefined && work.failed) agent.error = event.message;
    settle(agent, 'idle', at);
  },
  message_start(agent, _event, at) {
    agent.work.textComplete = true;
    // Pending approvals count as given when the agent continues.
    agent.work.approvals = 0;
    settle(agent, 'thinking', at);
  },
  message_update(agent, event, at) {
    const work = agent.work;
    if (event.role === 'user') {
      if (event.text !== undefined) {
        agent.prompt = event.whole ? event.text.slice(0, MAX_NAME) : (agent.prompt + event.text).slice(-MAX_NAME);
      }
      if (!work.turnOpen && work.openTools.length === 0) startPrompt(agent, event, at);
      return;
    }
    if (event.thinking) {
      settle(agent, 'thinking', at);
      return;
    }
    if (event.text === undefined) return;
    appendText(agent, event.text, event.whole || work.textComplete);
    work.textComplete = false;
    settle(agent, 'writing', at);
  },
  message_end(agent, event, at) {
    if (event.role === 'user') return;
    if (event.text) {
      appendText(agent, event.text, event.whole || agent.work.textComplete);
    }
    agent.work.textComplete = true;
    if (WORKING.has(agent.status)) settle(agent, 'thinking', at);
  },
  tool_execution_start(agent, event, at) {
    const id = event.tool_id ?? '';
    if (openTool(agent, id)) {
      violation(agent, `tool ${id} started twice`);
      return;
    }
    agent.tools += 1;
    if (agent.work.openTools.length < MAX_OPEN_TOOLS) {
      const name = event.tool_name ?? '?';
      agent.work.openTools.push({ id, name, waits: false });
      agent.running.push({ id, name, since_ms: at, summary: '', arguments: '', cut: false });
    } else {
      violation(agent, `more than ${MAX_OPEN_TOOLS} tools at a time`);
    }
    settle(agent, 'running_tool', at);
  },
  tool_execution_update(agent, event, at) {
    const id = event.tool_id ?? '';
    const tool = openTool(agent, id);
    if (!tool) {
      // Complete arguments only repeat what was reported before.
      if (!event.arguments || !event.whole) violation(agent, `tool ${id} continues but was not started`);
    } else if (event.arguments) {
      appendArguments(agent, event);
    } else if (tool.waits) {
      tool.waits = false;
      settle(agent, 'running_tool', at);
    }
  },
  tool_execution_end(agent, event, at) {
    const id = event.tool_id ?? '';
    const tool = openTool(agent, id);
    if (tool) agent.work.openTools = agent.work.openTools.filter((open) => open !== tool);
    else violation(agent, `tool ${id} ended but was not started`);
    agent.work.approvals = 0;
    contacted(agent, event.network ?? []);
    if (event.is_error) agent.tool_errors += 1;
    settle(agent, 'thinking', at);
  },
  approval_request(agent, event, at) {
    const tool = event.tool_id === undefined ? undefined : openTool(agent, event.tool_id);
    if (tool) tool.waits = true;
    else agent.work.approvals += 1;
    addApproval(agent, event, tool, at);
    settle(agent, 'waiting_for_approval', at);
  },
  approval_end(agent, event, at) {
    const tool = event.tool_id === undefined ? undefined : openTool(agent, event.tool_id);
    if (tool) tool.waits = false;
    else if (agent.work.approvals > 0) {
      agent.work.approvals -= 1;
      removeApproval(agent, event.tool_id);
    } else violation(agent, 'an approval ended that was not requested');
    settle(agent, 'thinking', at);
  },
  retry(agent, event, at) {
    // The failure before it was not final.
    agent.work.failed = false;
    agent.error = null;
    enter(agent, 'retrying', at);
    agent.retry = event.retry ?? null;
  },
  notice() {},
  error(agent, event, at) {
    const isResponse = event.raw_type === 'response';
    // An error after an interruption is about the interruption.
    if (!isResponse && agent.work.over && agent.status === 'interrupted') return;
    agent.error = event.message ?? 'failed';
    // A failed command is a problem of its sender, not of the agent.
    if (isResponse) {
      agent.errors += 1;
      return;
    }
    countFailure(agent);
    agent.work.failed = true;
    agent.work.cutShort = true;
    clearWork(agent, at);
    agent.errorMarks.push(at);
    if (agent.errorMarks.length > MAX_SPANS) agent.errorMarks.shift();
    enter(agent, 'failed', at);
  },
  unknown(agent, _event, at) {
    agent.unknown += 1;
    if (!agent.work.understood) enter(agent, 'not_understood', at);
  },
};

/** Counts a failure once, because agents report the same one several times. */
function countFailure(agent) {
  if (!agent.work.counted) agent.errors += 1;
  agent.work.counted = true;
}

function clearOutcome(agent) {
  Object.assign(agent.work, { over: false, failed: false, interrupted: false, cutShort: false, counted: false });
}

function startPrompt(agent, _event, at) {
  const work = agent.work;
  clearOutcome(agent);
  work.started = true;
  agent.error = null;
  if (!work.turnOpen && work.openTools.length === 0) {
    // Earlier approvals belonged to the last prompt.
    work.approvals = 0;
    agent.approvals = [];
    enter(agent, 'thinking', at);
  }
}

function appendText(agent, text, replaces) {
  const whole = replaces ? text : agent.text + text;
  agent.text = whole.length > MAX_TEXT * 2 || replaces ? whole.slice(-MAX_TEXT) : whole;
}

function appendArguments(agent, { tool_id: id = '', text = '', whole }) {
  const tool = agent.running.find((running) => running.id === id);
  if (!tool) return;
  const others = agent.running.reduce((sum, running) => sum + (running === tool ? 0 : running.arguments.length), 0);
  const limit = Math.max(0, Math.min(MAX_ARGUMENTS, MAX_ALL_ARGUMENTS - others));
  if (whole && text) {
    // From the whole text: the main argument may be at the end.
    tool.summary = summary(text);
    tool.arguments = text.slice(0, limit);
    tool.cut = tool.arguments.length < text.length;
    tool.summarised = tool.arguments.length;
    return;
  }
  const kept = text.slice(0, Math.max(0, limit - tool.arguments.length));
  tool.arguments += kept;
  tool.cut ||= kept.length < text.length;
  // At every doubling, so that the cost of long arguments in small deltas is not quadratic.
  const length = tool.arguments.length;
  const before = tool.summarised ?? 0;
  if (length !== before && (text === '' || length <= EAGER_ARGUMENTS || length >= before * 2)) {
    tool.summary = summary(tool.arguments);
    tool.summarised = length;
  }
}

/** Adds a pending approval. */
function addApproval(agent, event, open, at) {
  const tool = open && agent.running.find(({ id }) => id === open.id);
  const text = event.text || null;
  const given = text !== null && isObject(text) ? text : null;
  const question = (given === null ? text : null) ?? event.message ?? null;
  const all = given ?? tool?.arguments ?? '';
  const about = question === null ? '' : oneLine(question);
  const line = given === null ? summary(tool?.arguments ?? '') : summary(given);
  const approval = {
    tool_id: event.tool_id,
    name: event.tool_name ?? tool?.name ?? '',
    since_ms: at,
    summary: line === '' ? about : line,
    arguments: all.slice(0, MAX_ARGUMENTS),
    cut: all.length > MAX_ARGUMENTS,
    // A preview that repeats the main argument adds nothing.
    message: about !== '' && !line.startsWith(about) ? question.slice(0, MAX_ARGUMENTS) : undefined,
    linked: Boolean(tool),
  };
  const before = agent.approvals.findIndex((other) => other.linked && approval.linked && other.tool_id === approval.tool_id);
  // A new list: the old one may belong to the state of the server.
  if (before >= 0) agent.approvals = agent.approvals.with(before, { ...approval, since_ms: agent.approvals[before].since_ms });
  else if (agent.approvals.length < MAX_APPROVALS) agent.approvals = [...agent.approvals, approval];
}

/** Of the approvals without a tool, removes the one with `id`, or else the oldest. */
function removeApproval(agent, id) {
  const named = agent.approvals.find((approval) => !approval.linked && id !== undefined && approval.tool_id === id);
  const removed = named ?? agent.approvals.find((approval) => !approval.linked);
  agent.approvals = agent.approvals.filter((approval) => approval !== removed);
}

function openTool(agent, id) {
  return agent.work.openTools.find((tool) => tool.id === id);
}

function clearWork(agent, at) {
  agent.work.openTools = [];
  agent.work.approvals = 0;
  agent.running = [];
  agent.approvals = [];
  agent.tool = null;
  endTurn(agent, at);
}

function endTurn(agent, at) {
  agent.work.turnOpen = false;
  const turn = agent.turnSpans.at(-1);
  if (turn && turn.end === null) turn.end = at;
}

/** Enters `status`, unless a tool is running or an approval is pending. */
function settle(agent, status, at) {
  const { openTools, approvals } = agent.work;
  agent.tool = openTools.at(-1)?.name ?? null;
  if (agent.running.length !== openTools.length) {
    agent.running = agent.running.filter(({ id }) => openTools.some((open) => open.id === id));
  }
  if (agent.approvals.length > 0) {
    agent.approvals = agent.approvals.filter((approval) => (approval.linked
      ? openTools.some((open) => open.waits && open.id === approval.tool_id)
      : approvals > 0));
  }
  if (approvals > 0 || openTools.some((tool) => tool.waits)) enter(agent, 'waiting_for_approval', at);
  else enter(agent, openTools.length > 0 ? 'running_tool' : status, at);
}

function enter(agent, status, at) {
  agent.retry = null;
  const segment = agent.segments.at(-1);
  if (segment.status !== status || segment.tool !== agent.tool) addSegment(agent, status, at);
  if (agent.status === status) return;
  agent.status = status;
  agent.since_ms = at;
}

function addSegment(agent, status, at) {
  agent.segments.at(-1).end = at;
  addSpan(agent.segments, { status, tool: agent.tool, start: at, end: null });
}

function addSpan(spans, span) {
  spans.push(span);
  if (spans.length > MAX_SPANS) spans.splice(0, MAX_SPANS / 4);
}

/** Counts hosts, the latest one last. */
function contacted(agent, contacts) {
  for (const { host: name = '', port = 0, allowed = false } of contacts) {
    const host = name.slice(0, MAX_NAME);
    const same = (known) => known.host === host && known.port === port && known.allowed === allowed;
    const times = (agent.hosts.find(same)?.times ?? 0) + 1;
    const others = agent.hosts.filter((known) => !same(known));
    agent.hosts = [...others.slice(1 - MAX_HOSTS), { host, port, allowed, times }];
  }
}

function violation(agent, what) {
  agent.violation_count += 1;
  agent.violations = [...agent.violations.slice(1 - MAX_VIOLATIONS), what];
}

function shortened(record) {
  const text = record.event?.text;
  if (!text || text.length <= MAX_LOG_TEXT) return record;
  return { ...record, event: { ...record.event, text: text.slice(0, MAX_LOG_TEXT) } };
}
