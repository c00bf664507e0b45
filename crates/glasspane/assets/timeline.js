// Draws the timelines of agents on a canvas.

import { clock, duration } from './format.js';

let palette = null;

/** Returns the current colours of the page; call `forgetColours` after a change of theme. */
export function colours() {
  if (!palette) {
    const style = getComputedStyle(document.documentElement);
    palette = new Proxy({}, {
      get(known, name) {
        known[name] ??= style.getPropertyValue(`--${name}`).trim();
        return known[name];
      },
    });
  }
  return palette;
}

export function forgetColours() {
  palette = null;
}

/** Makes the bitmap as large as the element is on the screen; returns a context in CSS pixels. */
export function prepare(canvas, width, height) {
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  const wide = Math.round(width * scale);
  const high = Math.round(height * scale);
  const context = canvas.getContext('2d');
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

const INACTIVE = new Set(['idle', 'starting', 'done', 'failed', 'interrupted', 'not_understood']);

/**
 * Calls `draw(span, left, width)` for every visible span. `view`: { from, to, now } in milliseconds; an
 * open span ends now, which may be before the end of the view.
 */
function eachSpan(spans, { from, to, now }, width, draw) {
  const perMillisecond = width / Math.max(1, to - from);
  for (let index = spans.length - 1; index >= 0; index -= 1) {
    const span = spans[index];
    const end = Math.min(span.end ?? now, to);
    if (end < from) break;
    if (span.start > to) continue;
    const left = Math.max(0, (span.start - from) * perMillisecond);
    draw(span, left, Math.max(1.5, (end - Math.max(span.start, from)) * perMillisecond));
  }
}

/** Draws the strip of a card: turns in the background, work in front, errors as marks. */
export function drawStrip(canvas, agent, view, width, height) {
  const context = prepare(canvas, width, height);
  const colour = colours();
  context.fillStyle = colour.raised;
  context.fillRect(0, 0, width, height);
  context.fillStyle = colour.turn;
  eachSpan(agent.turnSpans, view, width, (_, left, wide) => context.fillRect(left, 0, wide, height));
  eachSpan(agent.segments, view, width, (segment, left, wide) => {
    if (INACTIVE.has(segment.status)) return;
    context.fillStyle = colour[segment.status] || colour.quiet;
    const tall = segment.status === 'running_tool' || segment.status === 'waiting_for_approval';
    const top = tall ? 4 : 8;
    context.fillRect(left, top, wide, height - 2 * top);
  });
  drawErrors(context, agent, view, width, height);
}

function drawErrors(context, agent, { from, to }, width, height) {
  context.fillStyle = colours().failed;
  for (const at of agent.errorMarks) {
    if (at >= from && at <= to) context.fillRect(((at - from) / (to - from)) * width - 1, 0, 2.5, height);
  }
}

const LANES = ['turns', 'model', 'tools'];

/** Draws the lanes of the details: for turns, the model and tools, with a scale. */
export function drawLanes(canvas, agent, view, width, height) {
  const context = prepare(canvas, width, height);
  const colour = colours();
  const gutter = 44;
  const scale = 16;
  const lane = (height - scale) / LANES.length;
  const inner = width - gutter;
  context.font = `11px ${colour.sans}`;
  context.textBaseline = 'middle';
  context.fillStyle = colour.quiet;
  LANES.forEach((name, index) => context.fillText(name, 0, lane * (index + 0.5)));
  context.save();
  context.translate(gutter, 0);
  context.beginPath();
  context.rect(0, 0, inner, height);
  context.clip();
  context.fillStyle = colour.raised;
  LANES.forEach((_, index) => context.fillRect(0, lane * index + 1, inner, lane - 2));
  eachSpan(agent.turnSpans, view, inner, (span, left, wide) => {
    context.fillStyle = colour['line-strong'];
    context.fillRect(left, 4, Math.max(1, wide - 1), lane - 8);
    label(context, span.step === null ? '' : String(span.step), left, wide, lane / 2, colour.text);
  });
  eachSpan(agent.segments, view, inner, (segment, left, wide) => {
    if (INACTIVE.has(segment.status)) return;
    const tools = segment.status === 'running_tool' || segment.status === 'waiting_for_approval';
    const top = lane * (tools ? 2 : 1) + 4;
    context.fillStyle = colour[segment.status] || colour.quiet;
    context.fillRect(left, top, wide, lane - 8);
    if (tools) label(context, segment.tool ?? '', left, wide, top + lane / 2 - 4, colour.surface);
  });
  drawErrors(context, agent, view, inner, height - scale);
  context.restore();
  context.fillStyle = colour.quiet;
  context.fillText(clock(view.from - agent.started_ms), gutter, height - scale / 2 + 1);
  const total = duration(view.to - agent.started_ms);
  context.fillText(total, width - context.measureText(total).width, height - scale / 2 + 1);
}

function label(context, words, left, wide, middle, colour) {
  if (!words || wide < 16) return;
  const room = context.measureText(words).width + 8;
  if (room > wide) return;
  context.fillStyle = colour;
  context.fillText(words, left + 4, middle + 0.5);
}
