// The theme: light, dark, or that of the system.

import { forgetColours } from './timeline.js';

const CHOICES = ['auto', 'light', 'dark'];
const KEY = 'glasspane-theme';

export function setUpTheme(button, changed) {
  const system = matchMedia('(prefers-color-scheme: dark)');
  let choice = remembered();
  const apply = () => {
    const dark = choice === 'dark' || (choice === 'auto' && system.matches);
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    button.textContent = `Theme: ${choice}`;
    forgetColours();
    changed();
  };
  button.addEventListener('click', () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // Private windows may not store anything; the choice lasts until the page is closed.
    }
    apply();
  });
  system.addEventListener('change', apply);
  apply();
}

function remembered() {
  try {
    const choice = localStorage.getItem(KEY);
    return CHOICES.includes(choice) ? choice : 'auto';
  } catch {
    return 'auto';
  }
}
