// The controls of a replay.

import { drawDensity } from './charts.js';
import { clock, plural } from './format.js';
import { MAX_SPEED, MIN_SPEED, Player, parseLog } from './replay.js';

/** A browser holds a log in memory; more than this makes it slow. */
// Limit: the page does not open the log.
const MAX_REPLAYED_LOG_BYTES = 256 * 1024 * 1024;
const SCALE = 1000;

export class ReplayBar {
  constructor(find, app) {
    this.app = app;
    this.find = find;
    this.bar = find('replay');
    this.play = find('replay-play');
    this.position = find('replay-position');
    this.time = find('replay-time');
    this.speed = find('replay-speed');
    this.speedWords = find('replay-speed-words');
    this.density = find('replay-density');
    this.file = find('log-file');
    this.lastFrame = null;
    this.requestedPosition = null;
    find('open-log').addEventListener('click', () => this.file.click());
    find('replay-close').addEventListener('click', () => this.close());
    this.file.addEventListener('change', () => {
      const file = this.file.files[0];
      this.file.value = '';
      if (file) this.openFile(file);
    });
    this.play.addEventListener('click', () => this.togglePlay());
    this.position.addEventListener('input', () => {
      // Going back in a long log takes longer than a frame: only the last of many slider steps counts.
      this.requestedPosition = Number(this.position.value) / SCALE;
      app.wake();
    });
    this.speed.addEventListener('input', () => this.setSpeed(10 ** Number(this.speed.value)));
    window.addEventListener('resize', () => this.drawDensity());
    document.addEventListener('dragover', (event) => event.preventDefault());
    document.addEventListener('drop', (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) this.openFile(file);
    });
  }

  /** Plays the log that the server was started with; returns whether there is one. */
  openServedLog() {
    const name = document.querySelector('meta[name="glasspane-log"]').content;
    if (!name) return false;
    const token = new URLSearchParams(location.search).get('token') ?? '';
    this.app.connection.show('replay');
    fetch(`log?token=${encodeURIComponent(token)}`, { cache: 'no-store' })
      .then((response) => {
        if (!response.ok) throw new Error(`the server responded with ${response.status}`);
        return response.text();
      })
      .then((text) => this.open(name, text))
      .catch((error) => {
        this.showMessage(`The log ${name} could not be loaded: ${error.message}.`);
        this.app.connection.start();
      });
    return true;
  }

  async openFile(file) {
    if (file.size > MAX_REPLAYED_LOG_BYTES) {
      this.showMessage(`${file.name} is larger than 256 MiB, the limit of this page.`);
      return;
    }
    try {
      this.open(file.name, await file.text());
    } catch (error) {
      this.showMessage(`${file.name} could not be read: ${error.message}.`);
    }
  }

  open(name, text) {
    const { records, skipped } = parseLog(text);
    this.showMessage('');
    if (records.length === 0) {
      this.showMessage(`${name} contains no records. Open a log that “glasspane tail” printed.`);
      if (!this.app.replay) this.app.connection.start();
      return;
    }
    this.requestedPosition = null;
    const player = new Player(this.app.model, records);
    this.app.setReplay(player);
    this.bar.hidden = false;
    document.body.dataset.replay = 'open';
    this.find('replay-name').textContent = name;
    this.find('replay-name').title = name;
    this.counts = player.density();
    this.drawDensity();
    this.setSpeed(1);
    this.setPlaying(true);
    if (skipped > 0) this.showMessage(`${plural(skipped, 'line')} of ${name} ${skipped === 1 ? 'is not a record' : 'are not records'} and ${skipped === 1 ? 'was' : 'were'} skipped.`);
  }

  close() {
    this.bar.hidden = true;
    delete document.body.dataset.replay;
    this.showMessage('');
    this.app.setReplay(null);
  }

  togglePlay() {
    const player = this.app.replay;
    if (!player) return;
    // A step of the slider that the next frame carries out leaves the end, too.
    if (!player.playing && player.isAtEnd && this.requestedPosition === null) this.seek(player.start);
    this.setPlaying(!player.playing);
  }

  setPlaying(playing) {
    this.app.replay.playing = playing;
    this.lastFrame = null;
    this.show();
    this.app.wake();
  }

  skip(milliseconds) {
    this.seek(this.app.replay.now + milliseconds);
  }

  seek(at) {
    if (this.app.replay.seek(at)) this.app.rebuild();
    else this.app.repaint();
    this.show();
  }

  setSpeed(speed) {
    const limited = Math.min(MAX_SPEED, Math.max(MIN_SPEED, speed));
    this.app.replay?.setSpeed(limited);
    this.speed.value = String(Math.log10(limited));
    const words = `${limited >= 10 ? Math.round(limited) : Number(limited.toPrecision(2))}×`;
    this.speedWords.textContent = words;
    this.speed.setAttribute('aria-valuetext', words);
  }

  scaleSpeed(factor) {
    this.setSpeed(this.app.replay.speed * factor);
  }

  /** Called before each frame. */
  advance(at) {
    const player = this.app.replay;
    if (this.requestedPosition !== null) {
      const fraction = this.requestedPosition;
      this.requestedPosition = null;
      this.seek(player.start + fraction * (player.end - player.start));
    }
    if (!player.playing) return;
    if (this.lastFrame !== null) player.advance(at - this.lastFrame);
    this.lastFrame = at;
    // Nothing follows that would show the last figures.
    if (!player.playing) this.app.repaint();
    this.show();
  }

  show() {
    const player = this.app.replay;
    const position = (player.now - player.start) / (player.end - player.start);
    this.position.value = String(position * SCALE);
    const words = `${clock(player.now - player.start)} / ${clock(player.end - player.start)}`;
    if (this.time.textContent !== words) {
      this.time.textContent = words;
      this.position.setAttribute('aria-valuetext', words);
    }
    const action = player.playing ? 'Pause' : 'Play';
    if (this.play.textContent !== action) this.play.textContent = action;
  }

  drawDensity() {
    if (this.bar.hidden || !this.counts) return;
    drawDensity(this.density, this.counts, this.density.clientWidth, this.density.clientHeight);
  }

  showMessage(words) {
    const message = this.find('message');
    message.hidden = words === '';
    message.textContent = words;
  }
}
