// Keyboard shortcuts. Except for escape, none acts while the user types.

import { element } from './cards.js';

export function listenToKeys(app, find) {
  const help = find('help');
  const filter = find('filter-text');
  fillLegend(find('legend'));

  const move = (by) => {
    const from = app.cards.focusedId() ?? app.detail.agentId;
    const id = app.cards.step(by, from);
    if (id && app.detail.agentId) app.open(id);
  };
  const inGrid = () => document.activeElement === document.body
    || document.activeElement?.id === 'agents' || app.cards.focusedId() !== null;

  const actions = {
    '/': () => filter.focus(),
    j: () => move(1),
    k: () => move(-1),
    ArrowRight: () => inGrid() && move(1),
    ArrowLeft: () => inGrid() && move(-1),
    ArrowDown: () => inGrid() && move(app.cards.focusedId() ? app.cards.columns() : 1),
    ArrowUp: () => inGrid() && move(-app.cards.columns()),
    ' ': () => !isButton(document.activeElement) && app.togglePause(),
    r: () => find('open-log').click(),
    ',': () => app.replay && app.replayBar.scaleSpeed(1 / 1.5),
    '.': () => app.replay && app.replayBar.scaleSpeed(1.5),
    '[': () => app.replay && app.replayBar.skip(-5000),
    ']': () => app.replay && app.replayBar.skip(5000),
    t: () => find('theme').click(),
    '?': () => help.showModal(),
  };

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.key === 'Escape') {
      if (document.activeElement === filter) {
        if (filter.value) {
          filter.value = '';
          app.reorder();
        } else {
          filter.blur();
        }
      } else {
        app.close();
      }
      return;
    }
    if (isTyping(event.target)) {
      if (event.key === 'Enter' && event.target === filter) {
        // Applies the last input even if no frame was drawn since.
        app.arrange(performance.now());
        app.cards.step(0, null);
      }
      return;
    }
    const action = actions[event.key];
    if (action && action() !== false) event.preventDefault();
  });
}

function isTyping(target) {
  return target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type !== 'range');
}

/** Space presses a focused button, but on the name of a card it pauses the page. */
function isButton(target) {
  return target instanceof HTMLButtonElement && !target.classList.contains('title');
}

const LEGEND = [
  ['turn', 'turn (background)'],
  ['thinking', 'thinking'],
  ['writing', 'writing'],
  ['running_tool', 'running a tool'],
  ['waiting_for_approval', 'waiting for approval'],
  ['retrying', 'waiting to retry'],
  ['failed', 'error'],
];

function fillLegend(list) {
  for (const [colour, words] of LEGEND) {
    const item = element('li');
    const key = element('span', 'key');
    key.style.setProperty('--key', `var(--${colour})`);
    key.textContent = words;
    item.append(key);
    list.append(item);
  }
}
