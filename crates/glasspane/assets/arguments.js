// Summarises tool calls by the same rules as src/arguments.rs, which a test compares with this.
// Arguments are JSON text that may still be arriving, so they are read as far as they go. Pure.

const MAX_SUMMARY = 200;
const MAX_MEMBERS = 32;
const NEUTRAL = '\ufffd';

/** The arguments that describe a call best, in order of preference. */
const MAIN_ARGUMENTS = ['command', 'cmd', 'script', 'pattern', 'regex', 'query', 'search_query', 'url', 'uri', 'file_path', 'filepath',
  'path', 'absolute_path', 'notebook_path', 'relative_path', 'target_file', 'filename', 'file', 'paths', 'dir_path', 'directory',
  'code', 'description', 'prompt', 'question', 'task', 'title', 'name', 'message'];

/** Control characters, marks that change the writing direction, and invisible characters. */
const HARMFUL = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const HARMFUL_EXCEPT_LINES = new RegExp(`(?![\\n\\t])${HARMFUL.source}`, 'gu');

/** Summarises arguments in one line: the main one, then the others with their names. */
export function summary(text) {
  const members = membersOf(text)?.map(([name, value]) => [name, oneLine(withoutShell(value))]);
  if (!members) return oneLine(withoutShell(bareValue(text)));
  const find = (matches) => members.findIndex(([name, value]) => value !== '' && matches(name));
  let main = -1;
  for (const preferred of MAIN_ARGUMENTS) {
    main = find((name) => name.toLowerCase() === preferred);
    if (main >= 0) break;
  }
  if (main < 0) main = find(() => true);
  if (main < 0) return '';
  const rest = members.filter(([, value], index) => index !== main && value !== '');
  return cutLine(members[main][1] + rest.map(([name, value]) => `  ${oneLine(name)}=${value}`).join(''));
}

/** Returns the name and value of each argument, or one value without a name if they are not an object. */
export function list(text) {
  return membersOf(text) ?? (text.trim() === '' ? [] : [['', bareValue(text)]]);
}

/** Returns the arguments as text to search. */
export function words(text) {
  return list(text).map(([name, value]) => `${name} ${value}`).join('\n');
}

export function isObject(text) {
  return membersOf(text) !== null;
}

/** Returns one line of limited length; replaces invisible characters and those that change the writing direction. */
export function oneLine(text) {
  // More than is shown, so that a cut is detected.
  const start = text.replace(/^[ \n\r\t]+/, '').slice(0, MAX_SUMMARY * 8);
  return cutLine(start.replace(/[ \n\r\t]+/g, ' ').replace(/ $/, '').replace(HARMFUL, NEUTRAL));
}

/** Does the same for text of several lines. */
export function harmless(text) {
  return text.replaceAll('\r\n', '\n').replace(HARMFUL_EXCEPT_LINES, NEUTRAL);
}

function cutLine(line) {
  if (line.length <= MAX_SUMMARY) return line;
  const characters = [...line];
  return characters.length > MAX_SUMMARY ? `${characters.slice(0, MAX_SUMMARY).join('')}…` : line;
}

/** Returns the script of a shell that only runs it, as in `/bin/bash -lc 'cargo test'`; other text unchanged. */
function withoutShell(text) {
  const quoted = /^(?:[^ ]*\/)?(?:sh|bash|zsh|dash) -[^ ]*c '(.*)'$/su.exec(text)?.[1];
  if (quoted === undefined) return text;
  const replaced = (by) => quoted.replaceAll("'\\''", by).replaceAll(`'"'"'`, by);
  return replaced('').includes("'") ? text : replaced("'");
}

function bareValue(text) {
  const bare = text.trim();
  if (bare[0] === '"') return new Scanner(bare).string();
  return bare[0] === '[' ? joined(bare) ?? bare : bare;
}

function membersOf(text) {
  const scanner = new Scanner(text);
  scanner.skipBlanks();
  if (scanner.next() !== '{') return null;
  const members = [];
  while (members.length < MAX_MEMBERS) {
    scanner.skipBlanks();
    const first = scanner.peek();
    if (first === ',') {
      scanner.next();
      continue;
    }
    if (first === '}' || first === undefined) break;
    if (first !== '"') return null;
    const name = scanner.string();
    scanner.skipBlanks();
    if (scanner.next() !== ':') break;
    scanner.skipBlanks();
    members.push([name, scanner.peek() === '"' ? scanner.string() : scanner.nested()]);
  }
  return members;
}

/** Joins the strings of a list with blanks; of a shell command, returns only the script. */
function joined(text) {
  if (text[0] !== '[') return null;
  const scanner = new Scanner(text);
  scanner.next();
  const strings = [];
  for (;;) {
    scanner.skipBlanks();
    const first = scanner.peek();
    if (first === ',') scanner.next();
    else if (first === '"') strings.push(scanner.string());
    else if (first === ']' || first === undefined) break;
    else return null;
  }
  const [shell, flag, script] = strings;
  if (strings.length === 3 && shell.endsWith('sh') && flag.startsWith('-') && flag.endsWith('c')) return script;
  return strings.join(' ');
}

const ESCAPES = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

class Scanner {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  peek() {
    return this.text[this.at];
  }

  next() {
    return this.text[this.at++];
  }

  skipBlanks() {
    while (/[ \t\n\r\f]/.test(this.peek() ?? '')) this.at += 1;
  }

  /** Reads a string, from its opening quote to its end or that of the input. */
  string() {
    let text = '';
    this.at += 1;
    while (this.at < this.text.length) {
      const character = this.next();
      if (character === '"') break;
      text += character === '\\' ? this.escape() : character;
    }
    return text.toWellFormed?.() ?? text;
  }

  escape() {
    const kind = this.next();
    if (kind === undefined) return '';
    if (kind !== 'u') return ESCAPES[kind] ?? kind;
    const digits = /^[0-9a-f]{0,4}/i.exec(this.text.slice(this.at, this.at + 4))[0];
    this.at += digits.length;
    return digits.length === 4 ? String.fromCharCode(parseInt(digits, 16)) : '';
  }

  /** Reads the text of a value other than a string. A list of strings is joined. */
  nested() {
    const from = this.at;
    let depth = 0;
    let quoted = false;
    while (this.at < this.text.length) {
      const character = this.peek();
      if (quoted) quoted = character !== '"';
      else if (character === '"') quoted = true;
      else if (character === '[' || character === '{') depth += 1;
      else if ((character === ',' || character === '}') && depth === 0) break;
      else if (character === ']' || character === '}') depth = Math.max(0, depth - 1);
      this.at += character === '\\' && quoted ? 2 : 1;
    }
    const text = this.text.slice(from, this.at).trim();
    return joined(text) ?? text;
  }
}
