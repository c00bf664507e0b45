// A series of samples over time that stays small: when it is full, every second one is dropped and the
// next ones must be further apart. For totals that only grow, where the last sample counts.

const MAX_POINTS = 360;

export class Series {
  constructor() {
    this.points = [];
    this.gap = 0;
  }

  /** Adds a sample; one closer to the last than the gap replaces it. */
  push(at, values) {
    const points = this.points;
    const before = points.at(-2);
    if (before && at - before.at < this.gap) {
      const last = points.at(-1);
      last.at = Math.max(last.at, at);
      last.values = values;
      return;
    }
    points.push({ at, values });
    if (points.length > MAX_POINTS) {
      const last = points.at(-1);
      this.points = points.filter((_, index) => index % 2 === 0);
      if (this.points.at(-1) !== last) this.points.push(last);
      this.gap = ((last.at - this.points[0].at) / MAX_POINTS) * 2;
    }
  }

  clear() {
    this.points = [];
    this.gap = 0;
  }
}
