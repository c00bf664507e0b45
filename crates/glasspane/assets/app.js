// Connects the parts of the page: the source of records, drawing, and keys.

import { Cards } from './cards.js';
import { Connection } from './connection.js';
import { Detail } from './detail.js';
import { Filters } from './filters.js';
import { Model } from './model.js';
import { Overview } from './overview.js';
import { ReplayBar } from './replaybar.js';
import { listenToKeys } from './keys.js';
import { setUpTheme } from './theme.js';
import { needsAttention } from './attention.js';
import { doingWords, stateWords } from './format.js';
import { harmless } from './arguments.js';

const find = (id) => document.getElementById(id);

/** How often values that change constantly may reorder the cards: a grid that jumps cannot be read. */
const REORDER_INTERVAL = 1000;
/** How long cards keep their positions after the pointer moved in the grid, so that none moves away from it. */
const HOLD_TIME = 1500;
/** How often durations and strips are updated while nothing happens. */
const TICK = 500;
const ANNOUNCE_INTERVAL = 3000;

class App {
  constructor() {
    this.model = new Model();
    this.paused = false;
    this.replay = null;
    this.lastOrder = 0;
    this.lastTick = 0;
    this.lastMove = -Infinity;
    this.forced = false;
    this.announced = 0;
    this.attention = new Map();
    this.frameRequested = false;
    this.cards = new Cards(find('grid'), (id) => this.open(id));
    this.cards.wake = () => this.wake();
    this.detail = new Detail(find('detail'), () => this.close());
    this.filters = new Filters(find, () => this.reorder());
    this.overview = new Overview(find);
    this.connection = new Connection(find, {
      snapshot: (data) => this.applySnapshot(data),
      batch: (data) => this.applyBatch(data),
    });
    this.replayBar = new ReplayBar(find, this);
    find('pause').addEventListener('click', () => this.togglePause());
    find('clear-filters').addEventListener('click', () => {
      this.filters.clear();
      this.reorder();
    });
    find('help-open').addEventListener('click', () => find('help').showModal());
    setUpTheme(find('theme'), () => this.repaint());
    listenToKeys(this, find);
    for (const kind of ['pointermove', 'wheel', 'touchmove']) {
      find('grid').addEventListener(kind, () => { this.lastMove = performance.now(); }, { passive: true });
    }
    window.addEventListener('resize', () => this.repaint());
    document.addEventListener('visibilitychange', () => this.wake());
    setInterval(() => this.wake(), TICK);
    if (!this.replayBar.openServedLog()) this.connection.start();
  }

  /** Returns the current time of the feed or of the replay. */
  now() {
    return this.replay ? this.replay.now : this.connection.now();
  }

  applySnapshot(data) {
    if (this.replay) return;
    this.model.snapshot(data);
    this.rebuild();
  }

  applyBatch(data) {
    if (this.replay) return;
    this.model.batch(data);
    this.wake();
  }

  /** Switches to a log, or with null back to the live feed. */
  setReplay(player) {
    this.replay = player;
    this.setPaused(false);
    if (player) {
      this.connection.stop();
    } else {
      this.model.clear();
      this.connection.restart();
    }
    this.rebuild();
  }

  /** Redraws everything: ids may now belong to other agents, or agents may have a different history. */
  rebuild() {
    this.attention.clear();
    const open = this.detail.agentId;
    if (open && !this.replay && !this.model.agents.has(open)) this.close();
    else if (open) this.detail.show(open);
    this.repaint();
  }

  repaint() {
    this.overview.resize();
    this.cards.stripWidth = 0;
    this.detail.width = 0;
    for (const id of this.cards.visible) this.cards.stale.add(id);
    this.reorder();
  }

  reorder() {
    this.model.isOrderStale = true;
    this.lastOrder = 0;
    this.forced = true;
    this.wake();
  }

  wake() {
    if (this.frameRequested || document.hidden) return;
    this.frameRequested = true;
    requestAnimationFrame((at) => this.frame(at));
  }

  frame(at) {
    this.frameRequested = false;
    if (this.replay) this.replayBar.advance(at);
    const forced = this.forced;
    if (this.paused && !forced) return;
    this.forced = false;
    const model = this.model;
    for (const id of model.dirty) {
      if (this.cards.visible.has(id)) this.cards.stale.add(id);
    }
    const ticking = forced || at - this.lastTick >= TICK - 50;
    const touched = model.dirty.has(this.detail.agentId);
    const changed = model.isOrderStale || (model.hasNewText && this.filters.hasText);
    const due = at - this.lastOrder >= REORDER_INTERVAL / 4 || this.lastOrder === 0;
    if (due && (changed || (this.filters.isVolatile && at - this.lastOrder >= REORDER_INTERVAL))) this.arrange(at);
    const now = this.now();
    this.cards.draw(model, now, ticking);
    const shown = model.agents.get(this.detail.agentId);
    if (shown && (touched || ticking)) this.detail.draw(shown, now);
    if (ticking) {
      this.lastTick = at;
      this.overview.draw(model, this.chosen ?? [], now, at);
      this.announce(at);
    }
    model.dirty.clear();
    if (this.replay?.playing) this.wake();
  }

  arrange(at) {
    const model = this.model;
    const held = this.lastOrder !== 0 && at - this.lastMove < HOLD_TIME;
    model.isOrderStale = held;
    model.hasNewText = false;
    this.lastOrder = at;
    const totals = model.totals();
    this.filters.showCounts(totals);
    this.chosen = this.filters.choose(model.agents.values(), this.now());
    if (held) this.chosen = this.cards.inCurrentOrder(this.chosen);
    const focused = this.cards.focusedId();
    this.cards.arrange(this.chosen);
    // Moving a card removes the focus from it.
    if (focused && this.cards.focusedId() !== focused) this.cards.focus(focused, 'stay');
    if (this.detail.agentId) this.cards.mark(this.detail.agentId, true);
    const none = this.chosen.length === 0;
    find('empty').hidden = !none;
    find('clear-filters').hidden = totals.agents === 0;
    find('empty-title').textContent = totals.agents === 0 ? 'No agents yet' : 'No agent matches the filters';
    find('empty-words').hidden = totals.agents > 0;
    find('shown').textContent = this.filters.isActive ? `${this.chosen.length} of ${totals.agents}` : '';
  }

  /** Announces agents that need attention to screen readers, at most once per interval. */
  announce(at) {
    const news = [];
    for (const agent of this.model.agents.values()) {
      if (!needsAttention(agent)) this.attention.delete(agent.id);
      else if (this.attention.get(agent.id) !== agent.status) news.push(agent);
    }
    if (news.length === 0 || at - this.announced < ANNOUNCE_INTERVAL) return;
    this.announced = at;
    for (const agent of news) this.attention.set(agent.id, agent.status);
    find('announce').textContent = news.length > 3
      ? `${news.length} agents failed, are waiting for approval or are not understood`
      : news.map(announcement).join('; ');
  }

  open(id) {
    if (!this.model.agents.has(id)) return;
    if (this.detail.agentId) this.cards.mark(this.detail.agentId, false);
    this.detail.show(id);
    this.cards.mark(id, true);
    this.detail.draw(this.model.agents.get(id), this.now());
    this.cards.stripWidth = 0;
    if (matchMedia('(max-width: 900px)').matches) this.detail.title.focus();
    this.wake();
  }

  close() {
    const id = this.detail.agentId;
    if (!id) return;
    this.detail.hide();
    this.cards.mark(id, false);
    this.cards.stripWidth = 0;
    this.cards.focus(id);
    this.wake();
  }

  togglePause() {
    if (this.replay) this.replayBar.togglePlay();
    else this.setPaused(!this.paused);
  }

  setPaused(paused) {
    this.paused = paused;
    find('pause').setAttribute('aria-pressed', String(paused));
    find('pause').textContent = paused ? 'Resume' : 'Pause';
    find('pause').disabled = this.replay !== null;
    if (!paused) this.repaint();
  }
}

function announcement(agent) {
  const about = doingWords(agent);
  return harmless(`${agent.label}: ${stateWords(agent)}${about === '' ? '' : `: ${about}`}`);
}

new App();
