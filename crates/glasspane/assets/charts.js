// Draws totals over time as areas on a canvas.

import { colours, prepare } from './timeline.js';

/** The space above the highest value for its label. */
const LABEL_HEIGHT = 13;

/**
 * Draws `lines`, [{ colour, value(values) }], stacked, as steps: a total stays the same until the next
 * sample.
 */
export function drawSums(canvas, series, lines, to, width, height, words) {
  const context = prepare(canvas, width, height);
  const colour = colours();
  const points = series.points;
  context.font = `10.5px ${colour.sans}`;
  context.strokeStyle = colour.line;
  context.lineWidth = 1;
  for (const part of [0, 0.5, 1]) {
    const y = Math.round(LABEL_HEIGHT + (height - 1 - LABEL_HEIGHT) * part) + 0.5;
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
  }
  if (points.length === 0) return;
  const from = points[0].at;
  const end = Math.max(to, points.at(-1).at, from + 1000);
  let highest = 0;
  for (const { values } of points) {
    let sum = 0;
    for (const line of lines) sum += line.value(values);
    highest = Math.max(highest, sum);
  }
  if (highest <= 0) return;
  const x = (at) => ((at - from) / (end - from)) * width;
  const y = (value) => height - (value / highest) * (height - LABEL_HEIGHT);
  const under = new Array(points.length).fill(0);
  for (const line of lines) {
    const base = under.slice();
    const path = new Path2D();
    const edge = new Path2D();
    points.forEach(({ at, values }, index) => {
      under[index] += line.value(values);
      const top = y(under[index]);
      if (index === 0) {
        path.moveTo(x(at), top);
        edge.moveTo(x(at), top);
      } else {
        const before = y(under[index - 1]);
        path.lineTo(x(at), before);
        edge.lineTo(x(at), before);
        path.lineTo(x(at), top);
        edge.lineTo(x(at), top);
      }
    });
    const last = points.length - 1;
    path.lineTo(x(end), y(under[last]));
    edge.lineTo(x(end), y(under[last]));
    path.lineTo(x(end), y(base[last]));
    for (let index = last; index >= 0; index -= 1) {
      if (index < last) path.lineTo(x(points[index + 1].at), y(base[index]));
      path.lineTo(x(points[index].at), y(base[index]));
    }
    path.closePath();
    context.globalAlpha = 0.22;
    context.fillStyle = colour[line.colour];
    context.fill(path);
    context.globalAlpha = 1;
    context.strokeStyle = colour[line.colour];
    context.lineWidth = 1.4;
    context.stroke(edge);
  }
  context.fillStyle = colour.quiet;
  context.textBaseline = 'top';
  context.fillText(words(highest), 1, 0);
}

/** Draws how many events each part of a recording has. */
export function drawDensity(canvas, counts, width, height) {
  const context = prepare(canvas, width, height);
  const highest = Math.max(1, ...counts);
  context.fillStyle = colours().thinking;
  const wide = width / counts.length;
  counts.forEach((count, index) => {
    if (count === 0) return;
    const tall = Math.max(1, Math.sqrt(count / highest) * height);
    context.fillRect(index * wide, height - tall, Math.max(1, wide - 0.5), tall);
  });
}
