// All processes of the machine, and the fleets of the gateway.

import { $, button, el } from './page-dom.js';

const PERIOD = 2000;
const TITLES = { pid: 'PID', flags: 'Flags', temporary: 'Temporary', uid: 'User' };

export class Processes {
  #said = '';
  #chosen = new Set(); // to be compared

  constructor(app) {
    this.app = app;
    this.comparing = button('Compare', () => this.#compare(), { disabled: true });
  }

  /** Ask for as long as the page is open. */
  async run() {
    document.title = 'Processes';
    const { fleets } = await this.app.root.get('/fleets');
    for (;;) {
      try {
        this.#draw((await this.app.root.get('/processes')).processes, fleets);
      } catch (problem) {
        this.#draw([], fleets, problem.message);
      }
      await new Promise((resolve) => { setTimeout(resolve, PERIOD); });
    }
  }

  #compare() {
    const [pid, other] = this.#chosen;
    window.location.href = `?pid=${pid}&with=${other}#compare`;
  }

  #draw(processes, fleets, problem = '') {
    const said = JSON.stringify([processes, problem]);
    if (said === this.#said) return;
    this.#said = said;
    $('program').textContent = [...new Set(processes.map((each) => each.host))].filter(Boolean).join(', ') || 'This machine';
    const known = new Set(processes.map((each) => each.pid));
    for (const pid of this.#chosen) if (!known.has(pid)) this.#chosen.delete(pid);
    const { activeElement: before } = document;
    $('processes').replaceChildren(...[
      problem ? el('p', { class: 'error' }, problem) : null,
      processes.length ? this.#table(processes) : el('p', { class: 'nothing' }, 'No process of yours serves its flags.'),
      processes.length > 1 ? el('p', { class: 'actions' }, this.comparing, el('span', { class: 'hint' }, 'Mark two processes to compare them.')) : null,
      ...(fleets.length ? [el('h2', {}, 'Fleets'), el('ul', {}, ...fleets.map(({ fleet, url }) => el('li', {}, el('a', { href: `?fleet=${fleet}` }, url))))] : []),
    ].filter(Boolean));
    if (before?.id && !before.isConnected) $(before.id)?.focus();
    this.#count();
  }

  #count() {
    this.comparing.disabled = this.#chosen.size !== 2;
  }

  #table(processes) {
    const isShared = new Set(processes.map((each) => each.uid)).size > 1;
    const columns = Object.keys(TITLES).filter((name) => name !== 'uid' || isShared);
    return el('table', { class: 'processes' }, el('caption', { class: 'unseen' }, 'Processes that serve their flags'),
      el('thead', {}, el('tr', {}, el('td', {}, el('span', { class: 'unseen' }, 'Compare')), el('th', { scope: 'col' }, 'Program'),
        ...columns.map((name) => el('th', { scope: 'col', class: 'number' }, TITLES[name])))),
      el('tbody', {}, ...processes.map((each) => this.#row(each, columns))));
  }

  #row(each, columns) {
    if (each.problem) {
      return el('tr', { class: 'bad' }, el('td', {}), el('td', { colspan: columns.length + 1 }, `${each.socket}: ${each.problem}`));
    }
    const name = `${each.program} ${each.pid}`;
    const box = el('input', {
      type: 'checkbox', id: `compare-${each.pid}`, 'aria-label': `Compare ${name}`, checked: this.#chosen.has(each.pid),
      change: () => {
        if (box.checked) this.#chosen.add(each.pid);
        else this.#chosen.delete(each.pid);
        this.#count();
      },
    });
    return el('tr', {}, el('td', {}, box),
      el('th', { scope: 'row' }, el('a', { href: `?pid=${each.pid}`, id: `process-${each.pid}` }, each.program)),
      ...columns.map((column) => el('td', { class: 'number' }, column === 'uid' ? `uid ${each.uid}` : String(each[column]))));
  }
}
