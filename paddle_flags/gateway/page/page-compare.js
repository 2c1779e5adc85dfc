// Two processes side by side: this one, and another one of the gateway or a saved file.

import { $, complain, el } from './page-dom.js';
import { Api, parse } from './page-api.js';
import { Store } from './page-store.js';
import { Grid } from './page-grid.js';
import { cell, matcher, valueElement } from './page-list.js';
import { baseName, isSensitive, sameText, textOf } from './page-text.js';

const nameOf = (process) => `${process.program} ${process.pid}`;

export class Compare {
  #peer = null; // a Store
  #saved = null; // {title, flags}
  #others = []; // processes to choose from

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
    $('compare-with').addEventListener('change', ({ target }) => { if (target.value) app.compareWith(target.value); });
  }

  /** Offer the other processes of the gateway. */
  offer(processes, chosen) {
    this.#others = processes.filter((each) => !each.problem && each.pid !== this.app.store.process?.pid);
    $('compare-with').parentElement.hidden = !this.#others.length;
    $('compare-with').replaceChildren(el('option', { value: '' }, 'choose'),
      ...this.#others.map((each) => el('option', { value: each.pid, selected: String(each.pid) === chosen }, nameOf(each))));
    this.arrange();
  }

  /** Follow another process beside this one. */
  follow(base, pid) {
    const api = new Api(base, this.app.api.session, { asks: false });
    this.#peer = new Store(api, { withChanges: false });
    this.pid = pid;
    for (const type of ['reset', 'process', 'state']) this.#peer.addEventListener(type, () => this.arrange());
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
    return this.#saved?.flags ?? (this.#peer?.loaded ? this.#peer.flags : null);
  }

  #differs(name) {
    const [a, b] = [this.app.store.flags.get(name), this.#other?.get(name)];
    if (!a || !b) return Boolean(a || b);
    return isSensitive(a) || isSensitive(b) ? isSensitive(a) !== isSensitive(b) : !sameText(textOf(a), textOf(b));
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
    $('compare-b').textContent = this.#saved?.title ?? this.#peerTitle();
    this.#count();
    if (!this.#other || !store.loaded) {
      this.grid.show([], this.#missing());
      $('compare-shown').textContent = '';
      return;
    }
    const matches = matcher($('compare-search').value);
    const all = $('compare-all').checked;
    const either = (name) => [store.flags.get(name), this.#other.get(name)].filter(Boolean);
    const found = [...this.#names()].filter((name) => (all || this.#differs(name)) && either(name).some(matches));
    this.grid.show(this.#grouped(found.sort(), either), all || $('compare-search').value ? 'No flag matches.' : 'All flags have the same values in both.');
    const differing = found.filter((name) => this.#differs(name)).length;
    $('compare-shown').textContent = differing === 1 ? '1 difference' : `${differing || 'No'} differences`;
  }

  /** Why there is nothing to compare yet. */
  #missing() {
    const file = 'a file that "paddle-flags list PID --json" has written';
    if (this.#peer?.state === 'ended') return `Process ${this.pid} has ended, or does not serve its flags. Choose ${this.#others.length ? `another one, or ${file}` : file}.`;
    if (this.#peer || this.#saved) return `No flags of ${this.#saved ? 'this process' : `process ${this.pid}`} were read yet.`;
    return this.#others.length ? `Choose another process, or ${file}.` : `There is no other process here to compare with. Choose ${file}.`;
  }

  #peerTitle() {
    const { process, state } = this.#peer ?? {};
    const fate = { ended: ' (ended)', reconnecting: ' (no connection)', stale: ' (no connection)' }[state] ?? '';
    return process ? nameOf(process) + fate : '';
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
