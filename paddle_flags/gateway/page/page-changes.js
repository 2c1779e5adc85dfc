// What was changed from outside, with undo; and above all views the temporary changes that are on.

import { $, button, complain, el, say } from './page-dom.js';
import { clock, countdown, person, shown } from './page-text.js';

export class Changes {
  constructor(app) {
    this.app = app;
  }

  canUndo(number) {
    const { changes, process } = this.app.store;
    return process.you.may.includes('change') && changes.some((change) => change.change === number && change.undoable);
  }

  async undo(number) {
    try {
      const answer = await this.app.api.post('/undo', { change: number });
      say(`Change ${number} undone by change ${answer.change}`);
    } catch (problem) {
      complain(`Change ${number} was not undone: ${problem.message}`);
    }
  }

  draw() {
    const { changes } = this.app.store;
    for (const said of document.querySelectorAll('.toast [data-change]')) if (!this.canUndo(Number(said.dataset.change))) said.remove();
    const on = changes.filter((change) => change.state === 'on');
    $('count-changes').textContent = changes.length || '';
    $('temporary').hidden = on.length === 0;
    $('temporary').replaceChildren(el('h2', {}, on.length === 1 ? '1 temporary change is on' : `${on.length} temporary changes are on`),
      el('ul', {}, ...on.map((change) => this.#short(change))));
    const rest = changes.filter((change) => change.state !== 'on');
    $('changes').replaceChildren(changes.length ? el('ol', { class: 'changes' }, ...[...on, ...rest].map((change) => this.#long(change)))
      : el('p', { class: 'nothing' }, 'Nothing was changed from outside yet.'));
  }

  #clock(change) {
    const left = this.app.store.left(change);
    return el('span', { class: 'clock', 'data-ends': performance.now() + left * 1000 }, countdown(left));
  }

  /** A button, unless the change can't be undone, or not by this user. */
  undoButton(number, label = `Undo change ${number}`) {
    const attributes = { class: 'small', 'aria-label': label, 'data-change': number };
    return this.canUndo(number) ? button('Undo', () => this.undo(number), attributes) : null;
  }

  #values({ name, old, new: value }) {
    const flag = this.app.store.flags.get(name) ?? {};
    return el('span', { class: 'set' }, button(name, () => this.app.open(name), { class: 'link name' }),
      old === undefined ? null : el('span', { class: 'steps' }, ` ${shown(flag, old)} → ${shown(flag, value)}`));
  }

  #short(change) {
    return el('li', {}, ...change.flags.map((flag) => this.#values(flag)), this.#clock(change),
      el('span', { class: 'by' }, person(change.who), change.reason ? ` — ${change.reason}` : ''),
      this.undoButton(change.change));
  }

  #long(change) {
    const state = change.until && change.state === 'on' ? `until ${clock(change.until)}` : change.state;
    const what = { undo: `undo of ${change.undoes}`, fleet: `fleet, ${state}` }[change.kind] ?? state;
    return el('li', { class: `change ${change.state}` },
      el('div', { class: 'change-head' },
        el('span', { class: 'number' }, `#${change.change}`), el('time', { datetime: change.at }, clock(change.at)),
        el('span', { class: 'what' }, what), change.state === 'on' ? this.#clock(change) : null,
        el('span', { class: 'by' }, person(change.who)), this.undoButton(change.change)),
      change.reason ? el('p', { class: 'why' }, change.reason) : null,
      el('div', { class: 'sets' }, ...change.flags.map((flag) => this.#values(flag))));
  }
}
