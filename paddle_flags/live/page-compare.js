// Two processes side by side: this one, and the one that the proxy has under peer/ or a saved file.

import { $, complain, el } from './page-dom.js';
import { Api, parse } from './page-api.js';
import { Store } from './page-store.js';
import { Grid } from './page-grid.js';
import { cell, matcher, valueElement } from './page-list.js';
import { baseName, isSensitive, textOf } from './page-text.js';

const nameOf = (process) => `${process.program} ${process.pid}`;

export class Compare {
  #peer = null; // a Store
  #saved = null; // {title, flags}

  constructor(app) {
    this.app = app;
    this.grid = new Grid($('compare-list'), {
      draw: (item) => (item.group ? this.#drawGroup(item) : this.#draw(item.key)),
      open: (item) => { if (app.store.flags.has(item.key)) app.open(item.key); },
    });
    $('compare-search').addEventListener('input', () => this.arrange());
    $('compare-all').addEventListener('change', () => this.arrange());
    $('compare-toolbar').addEventListener('submit', (event) => event.preventDefault());
    $('compare-file').addEventListener('change', (event) => this.#load(event.target.files[0]));
    $('compare-peer').addEventListener('click', () => { this.#saved = null; this.arrange(); });
  }

  /** Find out whether there is another process beside this one. */
  async probe(base) {
    const api = new Api(base, this.app.api.session, { asks: false });
    try {
      await api.get('v1/process');
    } catch {
      this.arrange();
      return;
    }
    this.#peer = new Store(api, { withChanges: false });
    for (const type of ['reset', 'process']) this.#peer.addEventListener(type, () => this.arrange());
    this.#peer.addEventListener('flags', ({ detail }) => this.touched(detail));
    this.#peer.run();
  }

  /** Flags of one of the two have changed. */
  touched(names) {
    if (this.#shows(names)) this.grid.update(names, true);
    else this.arrange();
    this.#count();
  }

  /** Whether all these flags are in the list already, and belong there. */
  #shows(names) {
    const known = new Set(this.grid.items.map((item) => item.key));
    return [...names].every((name) => known.has(name) || !this.#differs(name));
  }

  async #load(file) {
    if (!file) return;
    try {
      const body = parse(await file.text());
      const flags = Array.isArray(body) ? body : body.flags;
      if (!Array.isArray(flags)) throw new Error('it has no "flags"');
      const known = flags.filter((flag) => typeof flag.name === 'string').map((flag) => [flag.name, { help: '', marks: [], ...flag }]);
      this.#saved = { title: file.name, flags: new Map(known) };
    } catch (error) {
      complain(`${file.name} is no list of flags: ${error.message}`);
    }
    this.arrange();
  }

  get #other() {
    return this.#saved?.flags ?? this.#peer?.flags ?? null;
  }

  #differs(name) {
    const [a, b] = [this.app.store.flags.get(name), this.#other?.get(name)];
    if (!a || !b) return Boolean(a || b);
    return isSensitive(a) || isSensitive(b) ? isSensitive(a) !== isSensitive(b) : textOf(a) !== textOf(b);
  }

  #count() {
    const names = this.#other ? [...this.#names()].filter((name) => this.#differs(name)) : [];
    $('count-compare').textContent = this.#other ? names.length : '';
  }

  #names() {
    return new Set([...this.app.store.flags.keys(), ...this.#other.keys()]);
  }

  arrange() {
    const { store } = this.app;
    $('compare-peer').hidden = !(this.#saved && this.#peer);
    $('compare-a').textContent = store.process ? nameOf(store.process) : '';
    $('compare-b').textContent = this.#saved?.title ?? (this.#peer?.process ? nameOf(this.#peer.process) : '');
    this.#count();
    if (!this.#other) {
      this.grid.items = [];
      $('compare-shown').textContent = 'Choose a file that "paddle-flags list --json" has written.';
      return;
    }
    const matches = matcher($('compare-search').value);
    const all = $('compare-all').checked;
    const either = (name) => [store.flags.get(name), this.#other.get(name)].filter(Boolean);
    const found = [...this.#names()].filter((name) => (all || this.#differs(name)) && either(name).some(matches));
    this.grid.items = this.#grouped(found.sort(), either);
    const differing = found.filter((name) => this.#differs(name)).length;
    $('compare-shown').textContent = differing === 1 ? '1 difference' : `${differing || 'No'} differences`;
  }

  #grouped(names, either) {
    const groups = new Map();
    for (const name of names) {
      const module = either(name)[0].module || 'unknown module';
      if (!groups.has(module)) groups.set(module, []);
      groups.get(module).push({ key: name });
    }
    const sorted = [...groups].sort(([a], [b]) => baseName(a).localeCompare(baseName(b)));
    return sorted.flatMap(([module, items]) => [{ key: `\n${module}`, group: true, module, open: true, count: items.length }, ...items]);
  }

  #drawGroup(item) {
    return el('div', { class: 'group', 'aria-expanded': 'true', title: item.module },
      el('span', { class: 'cell-group', role: 'gridcell', 'aria-colspan': 3 },
        el('span', { class: 'module' }, baseName(item.module)), el('span', { class: 'count' }, item.count)));
  }

  #draw(name) {
    const differs = this.#differs(name);
    const side = (flag) => (flag ? [valueElement(flag), el('span', { class: 'source' }, flag.source ?? '')] : [el('span', { class: 'value odd' }, 'not defined')]);
    return el('div', { class: differs ? 'flag differs' : 'flag' },
      cell('cell-name', el('span', { class: 'name' }, name)),
      cell('cell-a', ...side(this.app.store.flags.get(name))), cell('cell-b', ...side(this.#other?.get(name))));
  }
}
