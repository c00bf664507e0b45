// Orders agents by how much they need attention, by the same rule as src/program/top/attention.rs. Pure.
//
// Agents are ordered by group, and within it by a value that does not change while an agent is in the
// group, so cards do not move without reason.

/** A working agent that is silent for this long may be stuck. */
export const SILENT_AFTER = 30_000;

const WAITING = 0;
/** Failed, not understood, or a state that this page does not know. */
const TROUBLE = 1;
const SILENT = 2;
const WORKING = 3;
const INACTIVE = 4;
const ENDED = 5;

const GROUPS = {
  waiting_for_approval: WAITING,
  failed: TROUBLE,
  not_understood: TROUBLE,
  thinking: WORKING,
  writing: WORKING,
  running_tool: WORKING,
  retrying: WORKING,
  starting: INACTIVE,
  idle: INACTIVE,
  interrupted: ENDED,
  done: ENDED,
};

function groupOf({ status }) {
  return Object.hasOwn(GROUPS, status) ? GROUPS[status] : TROUBLE;
}

/** Returns the group and the position within it. Equal agents stay in order of arrival. */
export function attention(agent, now) {
  const group = groupOf(agent);
  if (group === WAITING) return [group, waitingSince(agent)];
  if (group === WORKING && now - agent.lastAt >= SILENT_AFTER) return [SILENT, agent.lastAt];
  return [group, 0];
}

/** Returns whether the agent needs attention now. */
export function needsAttention(agent) {
  return groupOf(agent) <= TROUBLE;
}

/** Returns since when the agent has been waiting for a person. */
export function waitingSince(agent) {
  const times = agent.approvals.map(({ since_ms }) => since_ms);
  return times.length > 0 ? Math.min(...times) : agent.since_ms;
}

/** Sorts the agents that need attention first. */
export function byAttention(agents, now) {
  return agents
    .map((agent) => ({ agent, key: attention(agent, now) }))
    .sort((one, other) => one.key[0] - other.key[0] || one.key[1] - other.key[1])
    .map(({ agent }) => agent);
}
