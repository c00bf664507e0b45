// Where the live feed stands, in words.

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
  gone: 'The server does not answer. What you see is how things stood; the page goes on by itself when the server is back.',
  forbidden: 'The server does not know this page’s token: it was started anew. Open the address it printed last.',
  full: 'The server has as many watchers as it takes. Trying again.',
};

export class Connection {
  constructor(find, on) {
    this.pill = find('connection');
    this.words = find('connection-words');
    this.notice = find('notice');
    /** How far the server's clock is ahead of ours. */
    this.ahead = 0;
    /** While nothing is heard, nothing goes on either. */
    this.heldAt = null;
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
    return this.heldAt ?? Date.now() + this.ahead;
  }

  start() {
    if (this.feed.stopped) this.show('connecting');
    this.feed.start();
  }

  stop() {
    this.feed.stop();
    this.show('replay');
  }

  /** Begins with a snapshot: what was shown before is gone. */
  restart() {
    this.feed.lastId = null;
    this.start();
  }

  show(state) {
    this.heldAt = state === 'live' ? null : this.now();
    this.pill.dataset.state = state;
    this.words.textContent = WORDS[state];
    const words = NOTICES[state] ?? '';
    this.notice.hidden = words === '';
    this.notice.dataset.kind = state === 'forbidden' ? 'error' : 'wait';
    if (this.notice.textContent !== words) this.notice.textContent = words;
  }
}
