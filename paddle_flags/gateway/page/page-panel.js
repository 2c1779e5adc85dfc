// One flag: its editor, its definition, where its value comes from, and its log.

import { $, button, coalesced, el } from './page-dom.js';
import { controlOf, hintOf } from './page-control.js';
import { valueElement } from './page-list.js';
import { clock, countdown, defaultOf, isLong, isSensitive, person, rangeOf, shown, textOf, typeOf, valueOf } from './page-text.js';

const ARTICLES = { override: 'an override', file: 'a file', live: 'a live value', fleet: 'the fleet' };

/** Why an entry of the history is in effect, or isn't. */
function stateOf(entry, at, effective) {
  if (at === 0) return 'in effect';
  if (entry.replaced) return 'replaced by a later one';
  if (entry.source === 'override') return 'hidden by an override above';
  return `hidden by ${ARTICLES[effective.source] ?? effective.source}`;
}

/** Whether there is something of clients to take back. */
const hasLive = (flag) => Boolean(flag.temporary) || [flag, ...flag.history ?? []].some((each) => each.source === 'live');

function table(caption, titles, rows) {
  return el('table', {}, el('caption', { class: 'unseen' }, caption),
    el('thead', {}, el('tr', {}, ...titles.map((title) => el('th', { scope: 'col' }, title)))),
    el('tbody', {}, ...rows.map((row) => el('tr', { class: row.class ?? '' }, ...row.cells.map((value) => el('td', {}, value))))));
}

export class Panel {
  name = null;
  #control = null;

  constructor(app) {
    this.app = app;
    this.reload = coalesced(() => this.#reload(), 150);
  }

  get flag() {
    return this.app.store.flags.get(this.name);
  }

  /** Show a flag, with the focus on its editor. */
  open(name) {
    this.name = name;
    if (!this.flag) return;
    this.top = el('div');
    this.form = el('div', { class: 'editor' });
    this.facts = el('dl', { class: 'facts' });
    this.history = el('div', { class: 'history' });
    this.log = el('div', { class: 'log' });
    $('panel').replaceChildren(
      el('div', { class: 'panel-head' },
        el('h2', { id: 'panel-title', tabindex: -1 }, name),
        button('✕', () => this.close(), { class: 'quiet icon', 'aria-label': 'Close' })),
      this.top, this.form, el('h3', {}, 'Where the value comes from'), this.history,
      el('h3', {}, 'Latest changes'), this.log, el('h3', {}, 'Definition'), this.facts);
    $('panel').hidden = false;
    document.body.classList.add('with-panel');
    this.#edit();
    this.#draw();
    this.#reload();
    this.focus();
  }

  focus() {
    if (this.#control) this.#control.focus();
    else $('panel-title').focus();
  }

  close() {
    if (this.name === null) return;
    this.name = null;
    this.#control = null;
    $('panel').hidden = true;
    document.body.classList.remove('with-panel');
    $('panel').replaceChildren();
    this.app.closed();
  }

  /** What is known of the flag has changed; what is being typed stays. */
  touched() {
    if (this.name === null) return;
    if (!this.flag) this.close();
    else {
      this.#draw();
      this.reload();
    }
  }

  /** An edit of this flag was applied or discarded: show its value in the editor. */
  reset(name) {
    if (this.name === name && this.flag) this.#edit();
  }

  #refusal() {
    if (!this.app.store.process.you.may.includes('change')) return 'You may only read.';
    return this.flag.settable ? '' : `Not settable: ${this.flag.refusal}`;
  }

  #edit() {
    const refusal = this.#refusal();
    this.#control = null;
    if (refusal) {
      this.form.replaceChildren(el('p', { class: 'refusal' }, refusal));
      return;
    }
    const { flag } = this;
    const control = controlOf(flag, 'edit');
    const pending = this.app.tray.pending.get(flag.name);
    control.write(pending?.set ?? (isLong(flag) ? '' : textOf(flag)) ?? '');
    if (!pending && isLong(flag)) this.#fill(control, flag);
    this.error = el('p', { class: 'error', id: 'edit-error', role: 'alert' });
    this.error.textContent = pending?.error ?? '';
    const hint = hintOf(flag);
    this.taking = button('Take back', () => this.#stage(null), { class: 'quiet', title: 'Take back what clients have set', hidden: !hasLive(flag) });
    this.form.replaceChildren(el('form', { submit: (event) => { event.preventDefault(); this.#stage(control.read()); } },
      flag.items ? el('span', { class: 'label' }, 'New value') : el('label', { for: 'edit', class: 'label' }, 'New value'),
      control.element, hint ? el('p', { class: 'hint', id: 'edit-hint' }, hint) : null, this.error,
      el('div', { class: 'actions' },
        this.taking,
        isSensitive(flag) || typeof defaultOf(flag) !== 'string' ? null
          : button('Default', () => { control.write(defaultOf(flag)); control.focus(); }, { class: 'quiet', title: `Fill in ${shown(flag, defaultOf(flag))}` }),
        el('button', { class: 'main' }, 'Check change'))));
    control.element.setAttribute('aria-describedby', hint ? 'edit-hint edit-error' : 'edit-error');
    this.form.onkeydown = (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#stage(control.read());
    };
    this.#control = control;
  }

  /** Fill in a long text, which lists don't have. */
  async #fill(control, { name }) {
    const { flag } = await this.app.api.get(`/flags/${encodeURIComponent(name)}`);
    if (this.#control === control && control.read() === '') control.write(flag.text);
  }

  /** Add the edit to the pending changes, and show what the process says of it. The focus moves to
      what comes next, unless the user has gone elsewhere meanwhile: what they type must not land here. */
  async #stage(set) {
    const { flag, error } = this;
    const from = document.activeElement;
    const wrong = await this.app.tray.stage(flag, set);
    if (this.name !== flag.name) return;
    error.textContent = wrong;
    const field = $('edit');
    if (field) field.setAttribute('aria-invalid', String(Boolean(wrong)));
    if (document.activeElement !== from && document.activeElement !== document.body) return;
    if (wrong) this.#control.focus();
    else this.app.tray.focus();
  }

  #draw() {
    const { flag } = this;
    const temporary = flag.temporary && el('p', { class: 'until' }, 'Temporary, ends in ',
      el('span', { class: 'clock', 'data-ends': flag.ends }, countdown((flag.ends - performance.now()) / 1000)),
      isSensitive(flag) ? '' : `, then ${shown(flag, flag.temporary.below)}`);
    this.top.replaceChildren(
      ...[flag.help ? el('p', { class: 'help' }, flag.help) : null,
        flag.deprecated ? el('p', { class: 'warning' }, `Deprecated: ${flag.deprecated}`) : null,
        flag.retired ? el('p', { class: 'warning' }, `Retired: ${flag.retired}`) : null,
        el('p', { class: 'now' }, valueElement(flag), el('span', { class: 'source' }, flag.source),
          flag.place ? el('span', { class: 'place' }, flag.place) : null),
        temporary].filter(Boolean));
    this.#drawFacts();
  }

  #drawFacts() {
    const { flag } = this;
    const facts = {
      type: typeOf(flag),
      exact: isSensitive(flag) || shown(flag, textOf(flag)) === textOf(flag) || isLong(flag) ? '' : textOf(flag),
      default: isSensitive(flag) ? '' : shown(flag, defaultOf(flag)),
      allowed: flag.choices?.join(', ') ?? rangeOf(flag),
      aliases: flag.aliases?.join(', '),
      'old names': flag.old_names?.join(', '),
      category: flag.category,
      module: flag.module,
      'defined at': flag.file ? `${flag.file}${flag.line ? `:${flag.line}` : ''}` : '',
      attributes: [...flag.marks, ...(flag.frozen ? ['frozen'] : [])].join(', '),
      revision: String(flag.revision),
    };
    this.facts.replaceChildren(...Object.entries(facts).filter(([, text]) => text)
      .flatMap(([title, text]) => [el('dt', {}, title), el('dd', {}, text)]));
  }

  async #reload() {
    const { name } = this;
    if (name === null) return;
    let flag;
    try {
      ({ flag } = await this.app.api.get(`/flags/${encodeURIComponent(name)}`));
    } catch (problem) {
      if (this.name === name) this.history.replaceChildren(el('p', { class: 'hint' }, problem.message));
      return;
    }
    if (this.name !== name) return;
    const rows = flag.history.map((entry, at) => ({
      class: at ? 'past' : '',
      cells: [valueOf(flag, entry.value === null ? null : entry.text), stateOf(entry, at, flag.history[0]), entry.source, entry.place ?? ''],
    }));
    if (this.#control) this.taking.hidden = !hasLive(flag);
    this.history.replaceChildren(table('Values, highest precedence first', ['Value', 'State', 'Source', 'Place'], rows));
    this.log.replaceChildren(flag.log.length ? el('ol', {}, ...flag.log.map((event) => this.#event(flag, event)))
      : el('p', { class: 'hint' }, 'None since the process serves its flags.'));
  }

  #event(flag, event) {
    const values = event.kind !== 'value' ? event.kind : 'new' in event ? `${shown(flag, event.old)} → ${shown(flag, event.new)}` : 'another value';
    return el('li', {}, el('time', { datetime: event.at }, clock(event.at)), ' ',
      el('span', { class: 'steps' }, values), ' ', el('span', { class: 'source' }, event.source ?? ''),
      el('div', { class: 'by' }, event.who ? person(event.who) : event.place ?? 'the program', event.reason ? ` — ${event.reason}` : ''));
  }
}
