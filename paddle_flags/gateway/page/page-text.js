// Texts of values, times and people. Values are handled as the API's texts, never as numbers of
// JavaScript, which have 53 bits.

/** The items of a list: one record of RFC 4180. */
export function splitList(text) {
  const items = [];
  for (let at = 0; text !== ''; at += 1) {
    let item = '';
    if (text[at] === '"') {
      for (at += 1; at < text.length; at += 1) {
        if (text[at] === '"' && text[(at += 1)] !== '"') break;
        item += text[at] ?? '';
      }
    } else {
      const comma = text.indexOf(',', at);
      const end = comma < 0 ? text.length : comma;
      item = text.slice(at, end);
      at = end;
    }
    items.push(item);
    if (at >= text.length) break;
  }
  return items;
}

/** The text of a list with these items. */
export function joinList(items) {
  if (items.length === 1 && items[0] === '') return '""';
  const quoted = (item) => /[",\r\n]|^\s|\s$/.test(item);
  return items.map((item) => (quoted(item) ? `"${item.replaceAll('"', '""')}"` : item)).join(',');
}

const BYTES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

function bytes(text) {
  if (!/^-?\d{4,}$/.test(text)) return null;
  const value = BigInt(text);
  for (let power = BYTES.length - 1; power > 0; power -= 1) {
    const unit = 1024n ** BigInt(power);
    if (value % (unit / 4n) === 0n && (value >= unit || value <= -unit)) {
      const quarters = (value * 100n) / unit;
      const shown = `${quarters / 100n}.${String(quarters % 100n).replace('-', '').padStart(2, '0')}`;
      return `${shown.replace(/\.?0+$/, '')}${BYTES[power]}B`;
    }
  }
  return null;
}

function seconds(text) {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) return null;
  if (value < 1e-6) return `${+(value * 1e9).toPrecision(6)}ns`;
  if (value < 1e-3) return `${+(value * 1e6).toPrecision(6)}us`;
  if (value < 1) return `${+(value * 1e3).toPrecision(6)}ms`;
  if (value < 60) return `${+value.toPrecision(9)}s`;
  const whole = Math.floor(value);
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'm']].map(([unit, letter], at, units) => {
    const count = Math.floor((at ? whole % units[at - 1][0] : whole) / unit);
    return count ? `${count}${letter}` : '';
  });
  const rest = +((whole % 60) + value - whole).toPrecision(9);
  return parts.join('') + (rest ? `${rest}s` : '');
}

/** "64MiB" of 67108864 bytes; the text itself where that says no more. */
export function quantity(text, unit) {
  const said = unit === 'bytes' ? bytes(text) : unit === 'seconds' ? seconds(text) : null;
  return said ?? text;
}

/** How to show a text of this flag; of a long one, only the digest may be known. */
export function shown(flag, text) {
  if (typeof text === 'object' && text !== null) return `${bytes(String(text.length)) ?? `${text.length}B`} of text`;
  if (text === null || text === undefined) return 'no value';
  if (text === '') return flag.items ? 'no items' : 'empty';
  return flag.unit ? quantity(text, flag.unit) : text;
}

/** Whether two texts, or their digests, are the same. */
export const sameText = (a, b) => (a?.sha256 ?? a ?? null) === (b?.sha256 ?? b ?? null);

export const isLong = (flag) => typeof flag.text === 'object' && flag.text !== null;
export const isSensitive = (flag) => flag.marks.includes('sensitive');
export const isUnsafe = (flag) => flag.marks.includes('unsafe');
export const isChanged = (flag) => flag.source !== 'default';

/** The text of the value; null where an optional flag has none, or the value is sensitive. */
export function textOf(flag) {
  return flag.value === null || flag.text === undefined ? null : flag.text;
}

export function defaultOf(flag) {
  return flag.default === null || flag.default_text === undefined ? null : flag.default_text;
}

/** The value of this flag, for people. */
export function valueOf(flag) {
  return isSensitive(flag) ? 'sensitive' : shown(flag, textOf(flag));
}

/** "in [1, 9]", ">= 1", or "". */
export function rangeOf(flag) {
  const say = (end) => (end === undefined || end === null ? null : quantity(String(end), flag.unit));
  const [low, high] = [say(flag.min), say(flag.max)];
  if (low !== null && high !== null) return `${low} to ${high}`;
  if (low !== null) return `at least ${low}`;
  return high !== null ? `at most ${high}` : '';
}

/** "list of int64", "int32". */
export const typeOf = (flag) => (flag.items ? `list of ${flag.items}` : flag.type);

const two = (number) => String(number).padStart(2, '0');

/** "9:41", "1:02:03", "2d 3:04:05". */
export function countdown(left) {
  if (left <= 0) return 'ending';
  const whole = Math.ceil(left);
  const days = Math.floor(whole / 86400);
  const hours = Math.floor((whole % 86400) / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const clock = hours || days ? `${hours}:${two(minutes)}` : `${minutes}`;
  return `${days ? `${days}d ` : ''}${clock}:${two(whole % 60)}`;
}

/** "16:30:00", with the date if that isn't today's. */
export function clock(at) {
  const time = new Date(at);
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} `;
  const today = time.toDateString() === new Date().toDateString();
  return `${today ? '' : day}${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** Who made a change. */
export function person(who) {
  if (!who) return 'the program';
  const known = (value) => value !== null && value !== undefined && value !== -1;
  const parts = [
    who.label ?? who.on_behalf_of?.label, who.command, known(who.uid) ? `uid ${who.uid}` : null,
    known(who.pid) ? `pid ${who.pid}` : null, who.host ?? who.on_behalf_of?.host,
  ];
  return parts.filter((part) => known(part) && part !== '').join(', ') || 'unknown';
}

/** The last part of a path. */
export const baseName = (path) => path.split('/').pop() || path;
