// The list of flags: groups, search and filters.

import { $, el } from './page-dom.js';
import { Grid } from './page-grid.js';
import { baseName, countdown, defaultOf, isChanged, isLong, isSensitive, isUnsafe, shown, textOf, valueOf } from './page-text.js';

const FILTERS = {
  changed: isChanged,
  temporary: (flag) => Boolean(flag.temporary),
  settable: (flag) => flag.settable,
  sensitive: isSensitive,
};
const isHidden = (flag) => flag.marks.includes('hidden');
const plain = (text) => text.toLowerCase().replaceAll('-', '_');

/** A test of flags for what was typed: each word is in the name, the help or the value. */
export function matcher(query) {
  const words = plain(query).split(/\s+/).filter(Boolean);
  return (flag) => {
    flag.words ??= plain([flag.name, flag.help, valueOf(flag), isLong(flag) ? '' : flag.text ?? '', flag.module ?? '',
      ...(flag.aliases ?? [])].join('\n'));
    return words.every((word) => flag.words.includes(word));
  };
}

/** A cell of a row. */
export function cell(name, ...children) {
  return el('span', { class: name, role: 'gridcell' }, ...children);
}

/** A value, which looks different where there is none. */
export function valueElement(flag, text = textOf(flag)) {
  const odd = isSensitive(flag) || text === null || text === '';
  return el('span', { class: odd ? 'value odd' : 'value' }, valueOf(flag, text));
}

export class List {
  #folded = new Set();
  #on = new Set();
  #boxes = {};
  #top = new Set(); // names in the group of changed flags

  constructor(app) {
    this.app = app;
    this.grid = new Grid($('list'), {
      draw: (item) => (item.group ? this.#drawGroup(item) : this.#drawFlag(app.store.flags.get(item.key))),
      open: (item) => app.open(item.key),
      fold: (item) => this.#fold(item),
    });
    for (const name of [...Object.keys(FILTERS), 'hidden']) this.#addFilter(name);
    $('search').addEventListener('input', () => this.arrange());
    $('toolbar').addEventListener('submit', (event) => {
      event.preventDefault();
      this.enter();
      if (this.grid.active) app.open(this.grid.active.key);
    });
    $('search').addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowDown') return;
      event.preventDefault();
      this.enter();
    });
  }

  /** Go to the first flag of the list. */
  enter() {
    this.grid.first();
    this.grid.root.focus();
  }

  #addFilter(name) {
    const box = el('input', {
      type: 'checkbox',
      change: () => {
        if (box.checked) this.#on.add(name);
        else this.#on.delete(name);
        this.arrange();
      },
    });
    const count = el('span', { class: 'count' });
    const label = el('label', { class: 'chip' }, box, ` ${name} `, count);
    this.#boxes[name] = { label, count };
    $('filters').append(label);
  }

  #fold(item) {
    if (!this.#folded.delete(item.key)) this.#folded.add(item.key);
    this.arrange();
  }

  /** Count for the filters. */
  count() {
    const flags = [...this.app.store.flags.values()];
    for (const [name, test] of Object.entries({ ...FILTERS, hidden: isHidden })) {
      this.#boxes[name].count.textContent = flags.reduce((sum, flag) => sum + (test(flag) ? 1 : 0), 0);
    }
    this.#boxes.hidden.label.hidden = !flags.some(isHidden);
  }

  /** Show new values. The rows are sorted again only while nobody is about to choose one. */
  touched(names) {
    const flags = [...names].map((name) => this.app.store.flags.get(name)).filter(Boolean);
    const moved = flags.some((flag) => this.#top.has(flag.name) !== isChanged(flag));
    if (moved && !this.grid.inUse) this.arrange();
    this.grid.update(names, true);
    this.count();
  }

  /** Sort, group and filter again. */
  arrange() {
    const matches = matcher($('search').value);
    const tests = [...this.#on].filter((name) => name !== 'hidden').map((name) => FILTERS[name]);
    const all = [...this.app.store.flags.values()];
    const found = all.filter((flag) => (this.#on.has('hidden') || !isHidden(flag) || isChanged(flag))
      && tests.every((test) => test(flag)) && matches(flag));
    const nothing = all.length ? 'No flag matches.' : this.app.store.loaded ? 'This process has no flags.' : 'No flags were read yet.';
    this.grid.show(this.#grouped(found), nothing);
    $('shown').textContent = found.length === all.length ? `${all.length} flags` : `${found.length} of ${all.length}`;
    this.count();
  }

  #grouped(flags) {
    const groups = new Map();
    for (const flag of flags) {
      const module = isChanged(flag) ? '' : flag.module || 'unknown module';
      const key = isChanged(flag) ? 'changed' : `${module}\n${flag.category ?? ''}`;
      if (!groups.has(key)) groups.set(key, { key, group: true, module, category: flag.category ?? '', flags: [] });
      groups.get(key).flags.push(flag.name);
    }
    const order = (a, b) => baseName(a.module).localeCompare(baseName(b.module))
      || a.module.localeCompare(b.module) || a.category.localeCompare(b.category);
    this.#top = new Set(groups.get('changed')?.flags);
    const items = [];
    for (const group of [...groups.values()].sort(order)) {
      group.open = !this.#folded.has(group.key);
      items.push(group);
      if (group.open) items.push(...group.flags.sort().map((key) => ({ key })));
    }
    return items;
  }

  #drawGroup(item) {
    const changed = item.key === 'changed';
    const name = changed ? 'Changed' : baseName(item.module);
    return el('div', { class: changed ? 'group changed' : 'group', 'aria-expanded': String(item.open), title: item.module },
      el('span', { class: 'cell-group', role: 'gridcell', 'aria-colspan': 4 },
        el('span', { class: 'fold', 'aria-hidden': 'true' }),
        el('span', { class: 'module' }, name),
        !changed && item.category ? el('span', { class: 'category' }, item.category) : null,
        el('span', { class: 'count' }, item.flags.length)));
  }

  #drawFlag(flag) {
    const pending = this.app.tray.pending.get(flag.name);
    const classes = ['flag', isChanged(flag) && 'changed', flag.temporary && 'timed', pending && 'waiting', !flag.settable && 'fixed'];
    return el('div', { class: classes.filter(Boolean).join(' ') },
      cell('cell-name', el('span', { class: 'name' }, flag.name), ...this.#chips(flag)),
      cell('cell-value', valueElement(flag), ' ',
        pending ? el('span', { class: 'next' }, `→ ${pending.shown}`) : this.#defaultOf(flag)),
      cell('cell-source', el('span', { class: 'source' }, flag.source), ' ',
        flag.temporary ? el('span', { class: 'clock', 'data-ends': flag.ends }, countdown((flag.ends - performance.now()) / 1000)) : null),
      cell('cell-help', flag.help));
  }

  #defaultOf(flag) {
    if (!isChanged(flag) || isSensitive(flag)) return null;
    return el('span', { class: 'default' }, `default ${shown(flag, defaultOf(flag))}`);
  }

  #chips(flag) {
    const marks = { unsafe: isUnsafe(flag), frozen: flag.frozen, deprecated: flag.deprecated, retired: flag.retired };
    const on = Object.keys(marks).filter((name) => marks[name]);
    return on.flatMap((name) => [' ', el('span', { class: name === 'unsafe' ? 'mark danger' : 'mark' }, name)]);
  }
}
