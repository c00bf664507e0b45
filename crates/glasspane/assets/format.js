// Formats figures and states. Pure.

/** The name of each state and a sign, so that colour is never the only clue. */
export const STATES = {
  waiting_for_approval: { words: 'waiting for approval', short: 'waiting', sign: '!' },
  failed: { words: 'failed', short: 'failed', sign: '✕' },
  not_understood: { words: 'not understood', short: 'not understood', sign: '?' },
  interrupted: { words: 'interrupted', short: 'interrupted', sign: '■' },
  retrying: { words: 'retrying', short: 'retrying', sign: '↻' },
  running_tool: { words: 'running a tool', short: 'tool', sign: '▸' },
  writing: { words: 'writing', short: 'writing', sign: '✎' },
  thinking: { words: 'thinking', short: 'thinking', sign: '…' },
  starting: { words: 'starting', short: 'starting', sign: '○' },
  idle: { words: 'idle', short: 'idle', sign: '–' },
  done: { words: 'done', short: 'done', sign: '✓' },
};

/** States in which an agent is working. */
export const ACTIVE = new Set(['thinking', 'writing', 'running_tool', 'retrying']);

export function stateWords(agent) {
  if (!Object.hasOwn(STATES, agent.status)) return stateName(agent.status);
  const calls = callsWords(agent);
  if (calls) return calls;
  if (agent.status === 'running_tool' && agent.tool) return `running ${agent.tool}`;
  if (agent.status === 'waiting_for_approval' && agent.tool) return `waiting for approval: ${agent.tool}`;
  if (agent.status === 'retrying' && agent.retry) return retryWords(agent.retry);
  if (agent.status === 'not_understood') return `not understood: ${plural(agent.unknown, 'line')}`;
  return STATES[agent.status]?.words ?? String(agent.status);
}

/** retry 2 of 5 in 1.0s after status 500 */
export function retryWords({ attempt, max_attempts, delay_ms, status }) {
  return ['retry', attempt, max_attempts && `of ${max_attempts}`, delay_ms !== undefined && `in ${(delay_ms / 1000).toFixed(1)}s`,
    status && `after status ${status}`].filter(Boolean).join(' ');
}

/** 4s, 1m 05s, 2h 03m */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** 1:05, 2:03:04: a position in a recording. */
export function clock(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (number) => String(number).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** Time of day with tenths, for the event log. */
export function timeOfDay(unixMilliseconds) {
  const date = new Date(unixMilliseconds);
  const two = (number) => String(number).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${Math.floor(date.getMilliseconds() / 100)}`;
}

/** 950, 1.2k, 34k, 5.6M */
export function count(number) {
  if (number < 1000) return String(Math.round(number));
  for (const [unit, size] of [['k', 1e3], ['M', 1e6], ['G', 1e9]]) {
    const scaled = number / size;
    if (scaled < 9.95) return `${scaled.toFixed(1)}${unit}`;
    if (scaled < 999.5 || unit === 'G') return `${Math.round(scaled)}${unit}`;
  }
  return String(number);
}

/** The cost of an agent: as reported, marked with ~ if it is an estimate, or – if it is unknown. */
export function costWords(usage) {
  return `${usage.cost_basis === 'estimated' ? '~' : ''}${dollars(usage.cost_usd)}`;
}

/** $0.0042, $1.23, $1,234; – for 0, which agents report for models whose price they do not know */
export function dollars(amount) {
  if (!(amount > 0)) return '–';
  if (amount < 0.01) return `$${amount.toFixed(4)}`;
  if (amount < 1000) return `$${amount.toFixed(2)}`;
  return `$${Math.round(amount).toLocaleString('en')}`;
}

export function plural(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

export function totalTokens(usage) {
  return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
}

/** Returns the name of a state that this page does not know. */
export function stateName(status) {
  return String(status).replaceAll('_', ' ');
}

/** Names the tools that run or wait for approval; empty if unknown. */
function callsWords({ status, running, approvals }) {
  const waits = status === 'waiting_for_approval';
  const calls = waits ? approvals : status === 'running_tool' ? running : [];
  const name = (waits ? calls[0] : calls.at(-1))?.name;
  if (!name) return '';
  const more = calls.length > 1 ? ` and ${calls.length - 1} more` : '';
  return `${waits ? 'waiting for approval: ' : 'running '}${name}${more}`;
}

/** Returns one line about what the agent is doing or requesting; empty if unknown. */
export function doingWords({ status, running, approvals }) {
  if (status === 'waiting_for_approval') return approvals[0]?.summary ?? running.at(-1)?.summary ?? '';
  return status === 'running_tool' ? running.at(-1)?.summary ?? '' : '';
}

/** Returns the colour of a state; unknown states have a separate one. */
export function stateColour(status) {
  return Object.hasOwn(STATES, status) ? `var(--${status})` : 'var(--unknown-state)';
}
