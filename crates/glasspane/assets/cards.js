// The grid of cards. Only visible cards are drawn in full; the others just keep their position.

import { ACTIVE, STATES, costWords, count, duration, plural, stateWords, totalTokens } from './format.js';
import { drawStrip } from './timeline.js';
import { harmless } from './arguments.js';
import { waitingSince } from './attention.js';
import { doingWords, stateColour } from './format.js';

/** A card shows about five lines; laying out more would be wasted work. */
const SHOWN_TEXT = 420;
const STRIP_HEIGHT = 22;
/** The shortest and the longest time a strip spans. */
const SHORTEST_SPAN = 60_000;
const LONGEST_SPAN = 300_000;

export class Cards {
  constructor(grid, open) {
    this.grid = grid;
    this.open = open;
    this.cards = new Map();
    this.visible = new Set();
    /** Visible cards whose content is older than their agent. */
    this.stale = new Set();
    this.order = [];
    this.stripWidth = 0;
    this.observer = new IntersectionObserver((entries) => this.updateVisible(entries), { rootMargin: '200px 0px' });
    new ResizeObserver(() => { this.stripWidth = 0; }).observe(grid);
    grid.addEventListener('click', (event) => {
      const card = event.target.closest('.card');
      if (card && !window.getSelection()?.toString()) this.open(card.dataset.id);
    });
  }

  updateVisible(entries) {
    for (const entry of entries) {
      const id = entry.target.dataset.id;
      if (entry.isIntersecting) {
        this.visible.add(id);
        this.stale.add(id);
      } else {
        this.visible.delete(id);
      }
    }
    this.wake?.();
  }

  /** Shows the cards of exactly these agents, in this order. */
  arrange(agents) {
    const order = new Set();
    let place = this.grid.firstElementChild;
    for (const agent of agents) {
      const card = this.cards.get(agent.id) ?? this.make(agent);
      order.add(agent.id);
      if (card.root === place) place = place.nextElementSibling;
      else this.grid.insertBefore(card.root, place);
    }
    while (place) {
      const next = place.nextElementSibling;
      place.remove();
      this.visible.delete(place.dataset.id);
      this.observer.unobserve(place);
      this.cards.delete(place.dataset.id);
      place = next;
    }
    this.order = [...order];
  }

  /** Returns the agents in the current order of their cards, new ones at the end. */
  inCurrentOrder(agents) {
    const places = new Map(this.order.map((id, index) => [id, index]));
    const place = (agent) => places.get(agent.id) ?? Infinity;
    return [...agents].sort((one, other) => (place(one) === place(other) ? 0 : place(one) - place(other)));
  }

  make(agent) {
    const root = element('li', 'card');
    root.dataset.id = agent.id;
    const card = { root, shown: {} };
    const header = element('header');
    card.title = element('button', 'title');
    card.title.type = 'button';
    card.source = element('span', 'source');
    header.append(card.title, card.source);
    const state = element('p', 'state');
    card.sign = element('span', 'sign');
    card.sign.setAttribute('aria-hidden', 'true');
    card.words = element('span', 'words');
    card.since = element('span', 'since');
    state.append(card.sign, card.words, card.since);
    card.doing = element('p', 'doing');
    card.strip = element('canvas');
    card.strip.setAttribute('aria-hidden', 'true');
    const tail = element('div', 'tail');
    card.text = element('p', 'text');
    tail.append(card.text);
    const footer = element('footer');
    card.turns = element('span');
    card.tools = element('span');
    card.errors = element('span', 'bad');
    card.tokens = element('span');
    card.cost = element('span', 'cost');
    footer.append(card.turns, card.tools, card.errors, card.tokens, card.cost);
    root.append(header, state, card.doing, card.strip, tail, footer);
    this.cards.set(agent.id, card);
    this.observer.observe(root);
    this.stale.add(agent.id);
    put(card, 'title', agent.label);
    this.colour(card, agent);
    return card;
  }

  colour(card, agent) {
    if (card.shown.status === agent.status) return;
    card.shown.status = agent.status;
    card.root.dataset.status = agent.status;
    card.root.style.setProperty('--state', stateColour(agent.status));
  }

  /** Draws the visible cards that have changed, or all of them if `ticking`. */
  draw(model, now, ticking) {
    if (ticking) for (const id of this.visible) this.stale.add(id);
    if (this.stale.size === 0) return 0;
    if (this.stripWidth === 0) {
      const first = this.visible.values().next().value;
      this.stripWidth = this.cards.get(first)?.strip.clientWidth ?? 0;
    }
    let drawn = 0;
    for (const id of this.stale) {
      const card = this.cards.get(id);
      const agent = model.agents.get(id);
      if (!card || !agent || !this.visible.has(id)) continue;
      this.fill(card, agent, now);
      drawn += 1;
    }
    this.stale.clear();
    return drawn;
  }

  fill(card, agent, now) {
    this.colour(card, agent);
    put(card, 'title', agent.label);
    put(card, 'source', agent.source);
    put(card, 'sign', STATES[agent.status]?.sign ?? '?');
    put(card, 'words', stateWords(agent));
    const waiting = agent.status === 'waiting_for_approval';
    put(card, 'since', duration(now - (waiting ? waitingSince(agent) : agent.since_ms)));
    put(card, 'doing', doingWords(agent));
    const failed = ['failed', 'interrupted', 'not_understood'].includes(agent.status) && agent.error;
    put(card, 'text', failed ? agent.error.slice(0, SHOWN_TEXT) : agent.text.slice(-SHOWN_TEXT));
    if (card.shown.failed !== Boolean(failed)) {
      card.shown.failed = Boolean(failed);
      card.text.dataset.kind = failed ? 'error' : 'text';
    }
    put(card, 'turns', plural(agent.turns, 'turn'));
    put(card, 'tools', plural(agent.tools, 'tool'));
    put(card, 'errors', agent.errors > 0 ? plural(agent.errors, 'error')
      : agent.violation_count > 0 ? plural(agent.violation_count, 'violation') : '');
    put(card, 'tokens', `${count(totalTokens(agent.usage))} tok`);
    put(card, 'cost', costWords(agent.usage));
    if (this.stripWidth > 0) {
      drawStrip(card.strip, agent, stripView(agent, now), this.stripWidth, STRIP_HEIGHT);
    }
  }

  /** Marks the card whose details are open. */
  mark(id, current) {
    const card = this.cards.get(id);
    if (!card) return;
    if (current) card.root.setAttribute('aria-current', 'true');
    else card.root.removeAttribute('aria-current');
  }

  focusedId() {
    return document.activeElement?.closest?.('.card')?.dataset.id ?? null;
  }

  /** Moves the focus by this many cards, or to the first if none has it. */
  step(by, from = this.focusedId()) {
    if (this.order.length === 0) return null;
    const index = this.order.indexOf(from);
    const next = index < 0 ? 0 : Math.min(this.order.length - 1, Math.max(0, index + by));
    return this.focus(this.order[next]);
  }

  /** Focuses a card, and scrolls it into view unless `view` is 'stay'. */
  focus(id, view = 'follow') {
    const card = this.cards.get(id);
    if (!card) return null;
    card.title.focus({ preventScroll: true });
    if (view === 'follow') card.root.scrollIntoView({ block: 'nearest' });
    return id;
  }

  columns() {
    const tops = this.grid.children;
    if (tops.length < 2) return 1;
    const top = tops[0].offsetTop;
    let columns = 1;
    while (columns < tops.length && tops[columns].offsetTop === top) columns += 1;
    return columns;
  }
}

/** Returns the time span of an agent's strip: until now while it works, then until its end. */
function stripView(agent, now) {
  const hasEnded = !ACTIVE.has(agent.status) && agent.status !== 'waiting_for_approval';
  const to = hasEnded ? Math.max(agent.since_ms, agent.lastAt) : now;
  const span = Math.min(LONGEST_SPAN, Math.max(SHORTEST_SPAN, to - agent.started_ms));
  return { from: Math.max(to - span, agent.started_ms), to: Math.max(to, agent.started_ms + span), now: to };
}

function put(card, name, words) {
  if (card.shown[name] === words) return;
  card.shown[name] = words;
  card[name].textContent = harmless(words);
}

export function element(name, className) {
  const made = document.createElement(name);
  if (className) made.className = className;
  return made;
}
