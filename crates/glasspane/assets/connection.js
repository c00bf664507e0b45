// Shows the state of the live feed.

import { Feed } from './feed.js';

const WORDS = {
  connecting: 'connecting',
  live: 'live',
  gone: 'disconnected',
  forbidden: 'not allowed',
  full: 'server is full',
  replay: 'replay',
};

const NOTICES = {
  gone: 'The server does not respond. The page shows the last known state and continues when the server is back.',
  forbidden: 'The server was restarted and does not accept this page’s token. Open the address it printed last.',
  full: 'The server has reached its limit of watchers. Retrying.',
};

export class Connection {
  constructor(find, on) {
    this.pill = find('connection');
    this.words = find('connection-words');
    this.notice = find('notice');
    /** How many milliseconds the server's clock is ahead of ours. */
    this.ahead = 0;
    /** The time is frozen at this moment while disconnected. */
    this.frozenAt = null;
    const token = new URLSearchParams(location.search).get('token') ?? '';
    this.feed = new Feed(token, {
      snapshot: (data) => {
        if (Number.isFinite(data.now_ms)) this.ahead = data.now_ms - Date.now();
        on.snapshot(data);
      },
      batch: on.batch,
      state: (name) => this.show(name),
    });
  }

  now() {
    return this.frozenAt ?? Date.now() + this.ahead;
  }

  start() {
    if (this.feed.stopped) this.show('connecting');
    this.feed.start();
  }

  stop() {
    this.feed.stop();
    this.show('replay');
  }

  /** Starts with a snapshot, which replaces everything shown before. */
  restart() {
    this.feed.lastId = null;
    this.start();
  }

  show(state) {
    this.frozenAt = state === 'live' ? null : this.now();
    this.pill.dataset.state = state;
    this.words.textContent = WORDS[state];
    const words = NOTICES[state] ?? '';
    this.notice.hidden = words === '';
    this.notice.dataset.kind = state === 'forbidden' ? 'error' : 'wait';
    if (this.notice.textContent !== words) this.notice.textContent = words;
  }
}
