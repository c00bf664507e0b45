// Plays a recorded log at any speed. To go back, it starts over and applies everything up to that point,
// which takes milliseconds.

export const MIN_SPEED = 0.1;
export const MAX_SPEED = 100;
const DENSITY_BINS = 240;

/** Reads a log; lines that are not records are counted, not shown. */
export function parseLog(text) {
  const records = [];
  let skipped = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    try {
      const record = JSON.parse(line);
      if (typeof record.agent !== 'string' || !Number.isFinite(record.at_ms)) throw new Error('not a record');
      record.seq = records.length + 1;
      records.push(record);
    } catch {
      skipped += 1;
    }
  }
  // Logs of several agents that were concatenated need not be in order.
  records.sort((one, other) => one.at_ms - other.at_ms || one.seq - other.seq);
  return { records, skipped };
}

export class Player {
  constructor(model, records) {
    this.model = model;
    this.records = records;
    this.start = records[0].at_ms;
    this.end = Math.max(records.at(-1).at_ms, this.start + 1);
    this.speed = 1;
    this.playing = false;
    this.seek(this.start);
  }

  get isAtEnd() {
    return this.now >= this.end;
  }

  /** Returns how many records each part of the log has. */
  density() {
    const counts = new Array(DENSITY_BINS).fill(0);
    for (const { at_ms } of this.records) {
      counts[Math.min(DENSITY_BINS - 1, Math.floor(((at_ms - this.start) / (this.end - this.start)) * DENSITY_BINS))] += 1;
    }
    return counts;
  }

  setSpeed(speed) {
    this.speed = Math.min(MAX_SPEED, Math.max(MIN_SPEED, speed));
  }

  /** Moves to a time, forwards or backwards. Returns whether the page must be rebuilt. */
  seek(at) {
    const target = Math.min(this.end, Math.max(this.start, at));
    const back = !(target >= this.now);
    if (back) {
      this.model.clear();
      this.next = 0;
    }
    this.now = target;
    this.applyUpToNow();
    return back;
  }

  /** Advances by this many real milliseconds. */
  advance(elapsed) {
    if (!this.playing) return;
    this.now = Math.min(this.end, this.now + elapsed * this.speed);
    this.applyUpToNow();
    if (this.isAtEnd) this.playing = false;
  }

  applyUpToNow() {
    while (this.next < this.records.length && this.records[this.next].at_ms <= this.now) {
      this.model.apply(this.records[this.next]);
      this.next += 1;
    }
  }
}
