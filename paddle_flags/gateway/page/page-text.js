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

const BYTES = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const SECONDS = [[86400n, 'd'], [3600n, 'h'], [60n, 'm']];
const QUARTERS = ['', '.25', '.5', '.75'];
const WHOLE = /^-?\d+$/;
const REAL = /^-?\d+(\.\d+)?(e[+-]\d+)?$/;
const MOST_WHOLE = 9e15; // a greater real number has more digits before its point than people read

function bytes(value) {
  for (let power = BYTES.length; power > 0; power -= 1) {
    const size = 1n << BigInt(10 * power);
    if (value >= size && value % (size / 4n) === 0n) return `${value / size}${QUARTERS[((value % size) * 4n) / size]}${BYTES[power - 1]}`;
  }
  return String(value);
}

function seconds(value, fraction = '') {
  let [text, rest] = ['', value];
  for (const [size, letter] of SECONDS) {
    if (rest >= size) text += `${rest / size}${letter}`;
    rest %= size;
  }
  return text + (rest || fraction ? `${rest}${fraction}s` : '') || '0';
}

/** The digits of a positive real number before and behind its point, `by` places to the left. */
function digits(text, by) {
  const [, whole, behind = '', power = 0] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text);
  const all = whole + behind;
  const point = whole.length + Number(power) + by;
  return [BigInt(all.slice(0, Math.max(0, point)).padEnd(point, '0') || '0'), '0'.repeat(Math.max(0, -point)) + all.slice(Math.max(0, point))];
}

function fraction(text) {
  for (const [by, unit] of [[0, 's'], [3, 'ms'], [6, 'us'], [9, 'ns']]) {
    const [whole, behind] = digits(text, by);
    if (whole > 0n) return unit === 's' ? seconds(whole, `.${behind}`) : `${whole}${behind ? `.${behind}` : ''}${unit}`;
  }
  return text;
}

/** "64MiB", "1m30.5s": the text of a number as the command writes it, which reads back equal. */
export function quantity(flag, text) {
  if (!['bytes', 'seconds'].includes(flag.unit) || flag.items) return text;
  const real = flag.type === 'double';
  if (!(real ? REAL : WHOLE).test(text) || (real && Math.abs(Number(text)) >= MOST_WHOLE)) return text;
  const sign = text.startsWith('-') ? '-' : '';
  const plain = text.slice(sign.length);
  if (real && !Number.isInteger(Number(plain))) return flag.unit === 'seconds' ? sign + fraction(plain) : text;
  const value = BigInt(Number.isSafeInteger(Number(plain)) ? Number(plain) : plain);
  return sign + (flag.unit === 'bytes' ? bytes(value) : seconds(value));
}

const ESCAPES = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text with all that isn't seen, or turns the direction of writing, escaped. */
function oneLine(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (sign) => {
    const code = sign.codePointAt(0);
    const hex = (letter, width) => `\\${letter}${code.toString(16).padStart(width, '0')}`;
    return ESCAPES[sign] ?? (code < 256 ? hex('x', 2) : code < 65536 ? hex('u', 4) : hex('U', 8));
  });
}

/** A text of this flag as the command shows it; of a long one, only the digest may be known. */
export function shown(flag, text) {
  if (typeof text === 'object' && text !== null) return `${bytes(BigInt(text.length))} of text`;
  if (text === null || text === undefined) return 'none';
  return text === '' ? '""' : oneLine(quantity(flag, text));
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

/** What the command shows in place of a sensitive value. */
const REDACTED = '<redacted>';

/** The value of this flag, for people. */
export const valueOf = (flag, text = textOf(flag)) => (isSensitive(flag) ? REDACTED : shown(flag, text));

/** "1 to 9", "at least 1", or "". */
export function rangeOf(flag) {
  const say = (end) => (end === undefined || end === null ? null : shown(flag, String(end)));
  const [low, high] = [say(flag.min), say(flag.max)];
  if (low !== null && high !== null) return `${low} to ${high}`;
  if (low !== null) return `at least ${low}`;
  return high !== null ? `at most ${high}` : '';
}

/** "list of int64", "int32, bytes". */
export const typeOf = (flag) => (flag.items ? `list of ${flag.items}` : flag.type) + (flag.unit ? `, ${flag.unit}` : '');

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
    who.label ?? who.on_behalf_of?.label, who.host ?? who.on_behalf_of?.host,
    known(who.uid) ? `uid ${who.uid}` : null, who.command, known(who.pid) ? `pid ${who.pid}` : null,
  ];
  return parts.filter((part) => known(part) && part !== '').join(', ') || 'unknown';
}

/** The last part of a path. */
export const baseName = (path) => path.split('/').pop() || path;
