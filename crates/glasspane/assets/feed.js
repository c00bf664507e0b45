// The live feed: server-sent events, read with fetch. EventSource would hide whether the token is wrong, the
// server is gone, or the server is full.

const MIN_RETRY_DELAY = 300;
const MAX_RETRY_DELAY = 5000;
/** The server sends something every 10 s; more than twice that without a byte is a dead connection. */
const MAX_SILENCE = 25000;

export class Feed {
  /** `on`: { snapshot(data), batch(data), state(name, detail) } */
  constructor(token, on) {
    this.address = `events?token=${encodeURIComponent(token)}`;
    this.on = on;
    this.lastId = null;
    this.stopped = true;
    this.wait = MIN_RETRY_DELAY;
  }

  start() {
    if (!this.stopped) return;
    this.stopped = false;
    this.wait = MIN_RETRY_DELAY;
    this.connect();
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.controller?.abort();
  }

  async connect() {
    const controller = new AbortController();
    this.controller = controller;
    let reason = 'gone';
    try {
      const headers = this.lastId ? { 'Last-Event-ID': this.lastId } : {};
      const response = await fetch(this.address, { headers, signal: controller.signal, cache: 'no-store' });
      if (response.status === 403) reason = 'forbidden';
      else if (response.status === 503) reason = 'full';
      if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
      this.wait = MIN_RETRY_DELAY;
      this.on.state('live');
      await this.read(response.body.getReader(), controller);
    } catch {
      // Reported below, by `reason`.
    }
    // Stopped, and perhaps restarted since: this connection is obsolete.
    if (this.stopped || this.controller !== controller) return;
    clearTimeout(this.silence);
    this.controller = null;
    this.on.state(reason, this.wait);
    this.timer = setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 1.7, MAX_RETRY_DELAY);
  }

  async read(reader, controller) {
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
      clearTimeout(this.silence);
      this.silence = setTimeout(() => controller.abort(), MAX_SILENCE);
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // Our server ends messages with two newlines and writes data on one line.
      let end;
      let from = 0;
      while ((end = rest.indexOf('\n\n', from)) >= 0) {
        this.message(rest.slice(from, end));
        from = end + 2;
      }
      if (from > 0) rest = rest.slice(from);
    }
  }

  message(text) {
    let event = 'message';
    let id = null;
    let data = '';
    for (const line of text.split('\n')) {
      if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('data: ')) data = line.slice(6);
    }
    if (!data || this.stopped) return;
    const parsed = JSON.parse(data);
    if (event === 'snapshot') this.on.snapshot(parsed);
    else if (event === 'batch') this.on.batch(parsed);
    if (id) this.lastId = id;
  }
}
