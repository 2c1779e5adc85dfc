// The right control for each type of flag. Each has `element`, `read()`, which returns the text of
// the value, `write(text)`, and `focus()`.

import { button, el } from './page-dom.js';
import { joinList, isSensitive, quantity, rangeOf, splitList } from './page-text.js';

const WHOLE = /^-?\d+$/;
const HINTS = {
  bytes: 'in bytes, or with a unit: 64KiB, 1.5GiB, 10MB',
  seconds: 'in seconds, or with units: 200ms, 1m30s, 1h',
};

/** What may be typed for this flag. */
export function hintOf(flag) {
  const said = flag.items ? '' : HINTS[flag.unit] ?? '';
  return [rangeOf(flag), said].filter(Boolean).join('; ');
}

export function controlOf(flag, id) {
  if (isSensitive(flag)) return typed(id, { type: 'password', autocomplete: 'new-password' });
  if (flag.items) return list(flag, id);
  if (flag.type === 'bool') return toggle(id);
  if (flag.choices?.length) return select(flag.choices, id);
  if (flag.type === 'string') return text(flag, id);
  return number(flag, id);
}

function typed(id, attributes) {
  const input = el('input', { id, type: 'text', autocomplete: 'off', spellcheck: 'false', class: 'typed', ...attributes });
  return {
    element: input,
    read: () => input.value,
    write: (value) => { input.value = value ?? ''; },
    focus: () => { input.focus(); input.select(); },
  };
}

/** Long texts and those with several lines have a field with several lines. */
function text(flag, id) {
  if (!/\n/.test(flag.text ?? '') && (flag.text ?? '').length < 80) return typed(id, {});
  const area = el('textarea', { id, rows: 5, spellcheck: 'false', class: 'typed' });
  return { element: area, read: () => area.value, write: (value) => { area.value = value ?? ''; }, focus: () => area.focus() };
}

function toggle(id) {
  const box = el('input', { id, type: 'checkbox', role: 'switch', class: 'switch' });
  const word = el('span', { 'aria-hidden': 'true' });
  const tell = () => { word.textContent = String(box.checked); };
  box.addEventListener('change', tell);
  return {
    element: el('span', { class: 'switching' }, box, word),
    read: () => String(box.checked),
    write: (value) => { box.checked = value === 'true'; tell(); },
    focus: () => box.focus(),
  };
}

function select(choices, id, attributes = {}) {
  const texts = choices.map(String);
  const box = el('select', { id, ...attributes }, ...texts.map((choice) => el('option', { value: choice }, choice)));
  return {
    element: box,
    read: () => box.value,
    write: (value) => { box.value = texts.includes(value) ? value : texts[0]; },
    focus: () => box.focus(),
  };
}

/** A text, with arrow keys that count, and a slider for ranges that are small enough. */
function number(flag, id) {
  const plain = typed(id, { inputmode: flag.type === 'double' || flag.unit ? 'text' : 'numeric' });
  const field = { ...plain, write: (value) => plain.write(quantity(flag, value ?? '')) };
  const whole = flag.type !== 'double';
  field.element.addEventListener('keydown', (event) => {
    const step = { ArrowUp: 1n, ArrowDown: -1n }[event.key];
    if (!step || !whole || !WHOLE.test(field.element.value)) return;
    event.preventDefault();
    field.element.value = String(BigInt(field.element.value) + step);
    field.element.dispatchEvent(new Event('input'));
  });
  const [low, high] = [Number(flag.min), Number(flag.max)];
  if (!(Number.isFinite(low) && Number.isFinite(high) && high - low <= 1e6) || flag.unit) return field;
  const slider = el('input', { type: 'range', min: low, max: high, step: whole ? 1 : 'any', 'aria-label': `${flag.name}, slider` });
  slider.addEventListener('input', () => { field.element.value = slider.value; });
  field.element.addEventListener('input', () => { slider.value = field.element.value; });
  const ends = el('span', { class: 'slider' }, el('span', { 'aria-hidden': 'true' }, low), slider, el('span', { 'aria-hidden': 'true' }, high));
  const write = (value) => { field.write(value); slider.value = value; };
  return { ...field, element: el('span', { class: 'numeric' }, field.element, ends), write };
}

/** An editor of items. */
function list(flag, id) {
  const rows = el('ol', { class: 'items' });
  const add = button('Add item', () => append('').focus(), { class: 'quiet' });
  const box = el('div', { id, role: 'group', 'aria-label': `Items of ${flag.name}` }, rows, add);
  const controls = new Map();
  const number = () => [...rows.children].forEach((row, at) => controls.get(row).label(at + 1));
  function append(value) {
    const control = flag.choices?.length ? select(flag.choices, null) : typed(null, {});
    const field = control.element;
    control.write(value);
    const up = button('↑', () => { row.previousElementSibling?.before(row); number(); up.focus(); }, { class: 'quiet icon' });
    const drop = button('✕', () => {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      controls.delete(row);
      row.remove();
      number();
      if (next) controls.get(next).focus();
      else add.focus();
    }, { class: 'quiet icon' });
    const row = el('li', {}, field, up, drop);
    control.label = (at) => {
      field.setAttribute('aria-label', `Item ${at}`);
      up.setAttribute('aria-label', `Move item ${at} up`);
      drop.setAttribute('aria-label', `Remove item ${at}`);
    };
    controls.set(row, control);
    rows.append(row);
    number();
    return control;
  }
  return {
    element: box,
    read: () => joinList([...rows.children].map((row) => controls.get(row).read())),
    write: (value) => { rows.replaceChildren(); controls.clear(); splitList(value ?? '').forEach(append); },
    focus: () => (rows.firstChild ? controls.get(rows.firstChild) : add).focus(),
  };
}
