// Pending changes: edits are collected here, checked by a dry run, and applied together.

import { $, button, complain, confirmed, el, say } from './page-dom.js';
import { clock, isLong, isSensitive, isUnsafe, person, sameText, shown, textOf } from './page-text.js';

const TIMES = [['', 'until changed again'], ['1m', 'for 1 minute'], ['10m', 'for 10 minutes'], ['1h', 'for 1 hour'], ['own', 'for …']];

export class Tray {
  pending = new Map(); // by name: {set, shown, expect, old, note, error, conflict}
  #checked = false;
  #busy = false;
  #turn = 0; // counts checks: only the answer to the last one matters

  constructor(app) {
    this.app = app;
    this.title = el('h2', { id: 'tray-title' });
    this.lines = el('ul', { class: 'pending' });
    this.status = el('p', { class: 'tray-status', role: 'status' });
    this.failure = el('p', { class: 'tray-failure', role: 'alert' });
    this.reason = el('input', { id: 'reason', type: 'text', maxlength: 250, autocomplete: 'off', placeholder: 'Reason' });
    this.time = el('select', { id: 'time', change: () => this.#timed() }, ...TIMES.map(([value, text]) => el('option', { value }, text)));
    this.own = el('input', { id: 'own-time', type: 'text', size: 8, placeholder: '1h30m', 'aria-label': 'How long, such as 90s or 1h30m', hidden: true, change: () => this.check() });
    this.applying = el('button', { type: 'submit', class: 'main' });
    $('tray').append(
      el('div', { class: 'tray-head' }, this.title, this.status),
      this.lines, this.failure,
      el('form', { class: 'tray-form', submit: (event) => { event.preventDefault(); this.apply(); } },
        el('label', { for: 'reason', class: 'unseen' }, 'Reason'), this.reason,
        el('label', { for: 'time', class: 'unseen' }, 'How long'), this.time, this.own,
        button('Check again', () => this.check(), { class: 'quiet' }),
        button('Discard', () => this.clear(), { class: 'quiet' }),
        this.applying));
  }

  /** Add an edit: the text to set, or null to take back what clients have set. Then check all. */
  async stage(flag, set) {
    const words = set === null ? 'take back' : isSensitive(flag) ? 'a new value' : shown(flag, set);
    this.pending.set(flag.name, { set, shown: words, expect: textOf(flag), old: textOf(flag), note: '', error: '', conflict: null });
    this.draw();
    this.app.list.grid.update(new Set([flag.name]));
    await this.check();
    return this.pending.get(flag.name)?.error || (this.#checked ? '' : this.failure.textContent);
  }

  drop(name) {
    this.pending.delete(name);
    this.app.list.grid.update(new Set([name]));
    this.draw();
    this.app.panel.reset(name);
    if (this.pending.size) this.check();
    else this.app.closed();
  }

  clear() {
    const names = new Set(this.pending.keys());
    this.pending.clear();
    this.reason.value = '';
    this.time.value = '';
    this.own.value = '';
    this.#timed();
    this.draw();
    this.app.list.grid.update(names);
    for (const name of names) this.app.panel.reset(name);
    this.app.closed();
  }

  focus() {
    if (this.pending.size) this.reason.focus();
  }

  #timed() {
    this.own.hidden = this.time.value !== 'own';
    if (!this.own.hidden) this.own.focus();
    if (this.pending.size) this.check();
  }

  #body(dry) {
    const body = { set: {}, expect: {}, dry_run: dry, confirm: [] };
    for (const [name, edit] of this.pending) {
      body.set[name] = edit.set;
      const flag = this.app.store.flags.get(name);
      if (flag && !isSensitive(flag) && !isLong(flag)) body.expect[name] = edit.expect; // null: has no value
      if (flag && isUnsafe(flag)) body.confirm.push(name);
    }
    if (this.reason.value.trim()) body.reason = this.reason.value.trim();
    if (this.time.value) body.for = this.time.value === 'own' ? this.own.value.trim() : this.time.value;
    return body;
  }

  /** Ask the process whether all of it would be accepted. */
  async check() {
    const body = this.#body(true);
    const turn = this.#turn += 1;
    this.#checked = false;
    try {
      const answer = await this.app.api.post('/changes', body);
      if (turn !== this.#turn) return; // edited meanwhile
      for (const edit of this.pending.values()) Object.assign(edit, { error: '', conflict: null });
      this.#accepted(answer);
      this.failure.textContent = '';
      this.#checked = true;
    } catch (problem) {
      if (turn !== this.#turn) return;
      await this.#failed(problem);
    }
    this.draw();
  }

  #accepted(answer) {
    for (const { name, old, new: value, hidden } of answer.flags) {
      const edit = this.pending.get(name);
      const flag = this.app.store.flags.get(name);
      if (!edit || !flag) continue;
      edit.note = hidden ? 'hidden for now by an override of the program' : old !== undefined && old === value ? 'no other value' : '';
      if (value !== undefined) edit.shown = (edit.set === null ? 'take back, ' : '') + shown(flag, value);
    }
  }

  async #failed(problem) {
    let told = false;
    for (const edit of this.pending.values()) Object.assign(edit, { error: '', note: '' });
    for (const { name, detail } of problem.errors ?? []) {
      const edit = this.pending.get(name);
      if (edit) edit.error = edit.error ? `${edit.error}\n${detail}` : detail;
      told ||= Boolean(edit);
    }
    if (problem.status === 409) {
      for (const [name, text] of Object.entries(problem.current)) await this.#conflict(name, text);
    }
    this.failure.textContent = told || problem.status === 409 ? '' : problem.message;
  }

  /** Say who has changed a flag since it was edited here. */
  async #conflict(name, text) {
    const edit = this.pending.get(name);
    if (!edit || edit.expect === text) return;
    let by = '';
    try {
      const { flag } = await this.app.api.get(`/flags/${encodeURIComponent(name)}`);
      const last = flag.log?.[0];
      if (last) by = ` by ${person(last.who)} at ${clock(last.at)}${last.reason ? `: “${last.reason}”` : ''}`;
    } catch { /* It is told without who it was. */ }
    edit.error = '';
    edit.conflict = { text, by };
  }

  /** Flags have changed: an edit of one of them may be about an old value. */
  async touched(names) {
    let changed = false;
    for (const name of names) {
      const edit = this.pending.get(name);
      const flag = this.app.store.flags.get(name);
      if (!edit || !flag || this.#busy || isSensitive(flag)) continue;
      const text = textOf(flag);
      if (sameText(text, edit.expect) || (edit.conflict && text === edit.conflict.text)) continue;
      await this.#conflict(name, text);
      changed = true;
    }
    if (changed) this.#checked = false;
    if (changed) this.draw();
  }

  /** The values as they are now are the ones to replace. */
  insist(name) {
    const edit = this.pending.get(name);
    edit.expect = edit.conflict.text;
    edit.old = edit.conflict.text;
    edit.conflict = null;
    this.check();
  }

  async apply() {
    if (this.#busy || !this.pending.size) return;
    if (!this.#checked) await this.check();
    if (!this.#checked || !(await this.#meant())) return;
    this.#busy = true;
    this.draw();
    try {
      const answer = await this.app.api.post('/changes', this.#body(false));
      const what = answer.flags.map(({ name, old, new: value }) => (old === undefined ? name : `${name} ${this.#shown(name, old)} → ${this.#shown(name, value)}`));
      await Promise.allSettled([this.app.store.read(), this.app.store.readChanges()]);
      this.clear();
      const until = answer.until ? `, until ${clock(answer.until)}` : '';
      const undo = this.app.changes.undoButton(answer.change, null);
      say(`Change ${answer.change} applied${until}: ${what.join(', ')} `, ...(undo ? [undo] : []));
    } catch (problem) {
      this.#checked = false;
      await this.#failed(problem);
      complain(`Nothing was changed: ${problem.message}`);
    } finally {
      this.#busy = false;
      this.draw();
    }
  }

  /** Ask about unsafe flags. */
  async #meant() {
    const unsafe = [...this.pending.keys()].map((name) => this.app.store.flags.get(name)).filter((flag) => flag && isUnsafe(flag));
    if (!unsafe.length) return true;
    const lines = unsafe.map((flag) => el('li', {}, el('code', {}, flag.name), ` → ${this.pending.get(flag.name).shown}`,
      el('div', { class: 'hint' }, flag.help)));
    const title = unsafe.length === 1 ? 'Change an unsafe flag?' : `Change ${unsafe.length} unsafe flags?`;
    return confirmed(title, [el('p', {}, 'Its definition calls it unsafe to change while the program runs.'), el('ul', {}, ...lines)],
      'Change it anyway');
  }

  #shown(name, text) {
    return shown(this.app.store.flags.get(name) ?? {}, text);
  }

  draw() {
    const count = this.pending.size;
    $('tray').hidden = count === 0;
    this.title.textContent = count === 1 ? '1 pending change' : `${count} pending changes`;
    const bad = [...this.pending.values()].some((edit) => edit.error || edit.conflict);
    this.status.textContent = this.#busy ? 'Applying' : this.#checked ? 'Checked: all of it would be accepted' : bad || this.failure.textContent ? 'Not accepted' : 'Checking';
    this.status.dataset.ok = this.#checked;
    this.applying.textContent = count === 1 ? 'Apply change' : `Apply ${count} changes`;
    this.applying.disabled = this.#busy || !this.#checked;
    this.lines.replaceChildren(...[...this.pending].map(([name, edit]) => this.#line(name, edit)));
  }

  #line(name, edit) {
    const flag = this.app.store.flags.get(name);
    const conflict = edit.conflict && el('div', { class: 'conflict' },
      `Changed meanwhile from ${shown(flag, edit.expect)} to ${shown(flag, edit.conflict.text)}${edit.conflict.by}. `,
      button('Change it anyway', () => this.insist(name), { class: 'quiet small' }));
    return el('li', { class: edit.error || edit.conflict ? 'bad' : '' },
      button(name, () => this.app.open(name), { class: 'link name' }),
      el('span', { class: 'steps' },
        flag && !isSensitive(flag) ? el('span', { class: 'old' }, `${shown(flag, edit.old)} → `) : null,
        el('span', { class: 'new' }, edit.shown)),
      edit.note ? el('span', { class: 'hint' }, edit.note) : null,
      button('✕', () => this.drop(name), { class: 'quiet icon', 'aria-label': `Discard the change of ${name}` }),
      edit.error ? el('div', { class: 'error' }, edit.error) : null,
      conflict);
  }
}
