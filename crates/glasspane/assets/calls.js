// The pending approvals and running tools in the details, with all their arguments.

import { harmless, list } from './arguments.js';
import { element } from './cards.js';
import { duration } from './format.js';

/** Further calls are only counted. */
const MAX_SHOWN = 20;

export class Calls {
  /** `since` is the word before the time of a call. */
  constructor(section, content, since) {
    this.section = section;
    this.content = content;
    this.since = since;
    this.count = section.querySelector('small');
    this.shown = [];
    section.hidden = true;
  }

  clear() {
    this.shown = [];
    this.content.replaceChildren();
    this.section.hidden = true;
  }

  draw(calls, now) {
    const shown = calls.slice(0, MAX_SHOWN);
    this.section.hidden = shown.length === 0;
    const more = calls.length - shown.length;
    const words = more > 0 ? `${more} more` : '';
    if (this.count.textContent !== words) this.count.textContent = words;
    const same = shown.length === this.shown.length && shown.every((call, index) => isSame(call, this.shown[index].call));
    if (!same) {
      this.shown = shown.map((call) => ({ call: { ...call }, ...build(call) }));
      this.content.replaceChildren(...this.shown.map(({ item }) => item));
    }
    this.shown.forEach(({ time }, index) => {
      const elapsed = `${this.since} ${duration(now - shown[index].since_ms)}`;
      if (time.textContent !== elapsed) time.textContent = elapsed;
    });
  }
}

function isSame(one, other) {
  return ['tool_id', 'id', 'name', 'summary', 'arguments', 'cut', 'message'].every((name) => one[name] === other[name]);
}

function build(call) {
  const item = element('li');
  const head = element('p', 'call');
  const name = element('b');
  name.textContent = harmless(call.name || 'question');
  const time = element('span', 'since');
  head.append(name, ' ', time);
  item.append(head);
  const given = list(call.arguments ?? '');
  if (given.length > 0) {
    const table = element('dl', 'arguments');
    for (const [argument, value] of given) {
      const term = element('dt');
      term.textContent = harmless(argument || 'input');
      const words = element('dd');
      words.textContent = harmless(value);
      table.append(term, words);
    }
    item.append(scrollable(table, `Arguments of ${name.textContent}`));
  } else if (call.summary && !call.message) {
    item.append(scrollable(paragraph('request', call.summary), 'Request'));
  }
  if (call.cut) item.append(paragraph('cut', 'The arguments are too long to show in full; this is their beginning.'));
  if (call.message) item.append(scrollable(paragraph('request', call.message), 'Request'));
  return { item, time };
}

/** Makes content that may overflow scrollable with the keyboard. */
function scrollable(content, label) {
  const box = element('div', 'box');
  box.tabIndex = 0;
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', label);
  box.append(content);
  return box;
}

function paragraph(className, words) {
  const made = element('p', className);
  made.textContent = harmless(words);
  return made;
}
