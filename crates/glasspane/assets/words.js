// The recent text of an agent and its tools, for searches. Each piece of text is searched once per word,
// so the cost of a search depends on the new text only.

import { words as argumentWords } from './arguments.js';

/** How much is kept of one agent, and of all of them together. */
// Limit: the filter of the page forgets the oldest text of the agent.
const MAX_AGENT_CHARACTERS = 16 * 1024;
// Limit: the filter of the page forgets the oldest texts of all agents.
const MAX_SEARCHED_CHARACTERS = 24 * 1024 * 1024;
const MIN_AGENT_CHARACTERS = 1024;
/** Streamed text is stored in pieces of the first size, which overlap by the second. */
const PIECE_LENGTH = 2048;
const PIECE_OVERLAP = 80;
/** How much of one message, argument or result is kept. */
const MAX_TEXT = 4096;
const MAX_KNOWN_WORDS = 16;

export class Words {
  constructor() {
    this.clear();
  }

  clear() {
    /** Oldest first; `first` is how many older ones were dropped. */
    this.pieces = [];
    this.first = 0;
    this.size = 0;
    /** The streamed text that is not stored yet. */
    this.open = '';
    this.streamed = false;
    /** For each word searched: the next piece to search, and the last one that contains it. */
    this.known = new Map();
  }

  add(text) {
    if (!text) return;
    const piece = text.slice(0, MAX_TEXT).toLowerCase();
    this.pieces.push(piece);
    this.size += piece.length;
    while (this.size > MAX_AGENT_CHARACTERS) this.forget();
  }

  /** Adds a delta of streamed text. */
  extend(text) {
    this.streamed = true;
    this.open += text.toLowerCase();
    while (this.open.length > PIECE_LENGTH) {
      this.add(this.open.slice(0, PIECE_LENGTH));
      this.open = this.open.slice(PIECE_LENGTH - PIECE_OVERLAP);
    }
  }

  /** Ends the streamed text; `text` is all of it. */
  finish(text) {
    if (this.streamed) this.add(this.open);
    else this.add(text);
    this.open = '';
    this.streamed = false;
  }

  /** Limits the text to this agent's share among `agents`. */
  limit(agents) {
    const limit = Math.max(MIN_AGENT_CHARACTERS, Math.floor(MAX_SEARCHED_CHARACTERS / Math.max(1, agents)));
    while (this.size > limit) this.forget();
  }

  forget() {
    this.size -= this.pieces.shift().length;
    this.first += 1;
  }

  has(word) {
    let state = this.known.get(word);
    if (!state) {
      if (this.known.size >= MAX_KNOWN_WORDS) this.known.clear();
      state = { next: 0, found: -1 };
      this.known.set(word, state);
    }
    if (state.found < this.first) {
      state.found = -1;
      const end = this.first + this.pieces.length;
      for (let number = Math.max(state.next, this.first); number < end && state.found < 0; number += 1) {
        if (this.pieces[number - this.first].includes(word)) state.found = number;
        state.next = number + 1;
      }
    }
    return state.found >= 0 || this.open.includes(word);
  }
}

/** Adds the text of a record. `agent` has the state before it. */
export function index(agent, { event }) {
  if (!event) return;
  const { words } = agent;
  switch (event.type) {
    case 'message_start':
      words.finish('');
      break;
    case 'message_update':
      if (event.role === 'user') words.add(event.text);
      else if (event.text && !event.thinking) {
        if (event.whole) words.open = '';
        words.extend(event.text);
      }
      break;
    case 'message_end':
      if (event.role === 'user') words.add(event.text);
      else words.finish(event.text);
      break;
    case 'tool_execution_end': {
      const call = agent.running.find((tool) => tool.id === (event.tool_id ?? ''));
      if (call) words.add(`${call.name}\n${callWords(call)}`);
      words.add(event.text);
      break;
    }
    case 'tool_execution_update':
      break;
    default:
      words.add([event.tool_name, event.raw_type, event.message, event.text].filter(Boolean).join('\n'));
  }
}

/** The arguments of a call in lower case, computed once for each change. */
export function callWords(call) {
  if (call.searchedFor !== call.arguments) {
    call.searchedFor = call.arguments;
    call.searched = `${argumentWords(call.arguments ?? '')}\n${call.summary ?? ''}`.toLowerCase();
  }
  return call.searched;
}
