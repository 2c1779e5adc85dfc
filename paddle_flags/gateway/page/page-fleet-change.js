// A change for the fleet: its form, the preview, and the answers of the members as they come.

import { $, button, complain, confirmed, el, say } from './page-dom.js';
import { GOOD, listed, scopeText, shortened } from './page-fleet-text.js';
import { isUnsafe } from './page-text.js';

const TIMES = [['', 'until changed again'], ['1m', 'for 1 minute'], ['10m', 'for 10 minutes'], ['1h', 'for 1 hour'], ['own', 'for …']];
const PATIENCE = 10; // seconds for the answers of the members
const WAITING = 'waits for its step';

const field = (label, control) => el('label', { class: 'fleet-field' }, el('span', {}, label), control);

export class FleetChange {
  #force = false; // not all members would take it
  #checked = ''; // the body that the members have accepted
  #expect = null;
  #busy = false;
  #unsafe = new Set(); // flags that some member has as unsafe
  #followed = null; // {revision, on}, of the change whose answers are awaited

  constructor(fleet) {
    this.fleet = fleet;
    this.rows = el('div');
    this.names = el('datalist', { id: 'fleet-names' });
    this.scope = el('select', { id: 'fleet-scope' });
    this.time = el('select', { id: 'fleet-time', change: () => this.#timed() }, ...TIMES.map(([value, text]) => el('option', { value }, text)));
    this.own = el('input', { id: 'fleet-own-time', type: 'text', size: 8, placeholder: '1h30m', 'aria-label': 'How long, such as 90s or 1h30m', hidden: true });
    this.step = el('input', { id: 'fleet-step', type: 'text', inputmode: 'numeric', size: 8, placeholder: 'at once', autocomplete: 'off' });
    this.drops = el('input', { id: 'fleet-drops', type: 'checkbox', change: () => this.#dropped() });
    this.reason = el('input', { id: 'fleet-reason', type: 'text', maxlength: 250, autocomplete: 'off', required: true });
    this.status = el('p', { class: 'tray-status', role: 'status', id: 'fleet-status' });
    this.failure = el('p', { class: 'tray-failure', role: 'alert', id: 'fleet-failure' });
    this.answers = el('ul', { class: 'answers', id: 'fleet-answers' });
    this.applying = button('Change', () => this.apply(), { class: 'main', id: 'fleet-apply', disabled: true });
    this.form = el('form', { id: 'fleet-form', class: 'fleet-form', input: () => this.#edited(), submit: (event) => { event.preventDefault(); this.check(); } },
      el('h3', {}, 'Change flags of the fleet'), this.names, this.rows,
      el('div', { class: 'fleet-options' }, button('Another flag', () => this.#add('', '').focus(), { class: 'quiet small' }),
        el('label', { class: 'chip' }, this.drops, 'clear the value of the fleet')),
      el('div', { class: 'fleet-options' }, field('For', this.scope), field('How long', this.time), this.own, field('At step', this.step)),
      field('Reason', this.reason),
      el('div', { class: 'actions' }, button('Cancel', () => this.close(), { class: 'quiet' }),
        el('button', { type: 'submit', id: 'fleet-check' }, 'Ask all members'), this.applying));
    this.form.hidden = true;
    this.progress = el('progress', { id: 'fleet-progress', 'aria-label': 'Members that have answered', hidden: true });
    this.element = el('section', {}, this.form, this.failure, this.status, this.progress, this.answers);
  }

  /** Whether answers of members are still to come. */
  get waits() {
    return this.#busy || this.#followed !== null;
  }

  /** Show the form, with a flag and what the fleet says of it. */
  open(name = '', value = null) {
    const { flags } = this.fleet.app.store;
    const { values, differences } = this.fleet.known;
    const known = new Set([...flags.keys(), ...values.map((each) => each.name), ...differences.map((each) => each.name)]);
    this.names.replaceChildren(...[...known].sort().map((each) => el('option', { value: each })));
    this.rows.replaceChildren();
    this.drops.checked = false;
    const first = this.#add(name, value?.value ?? '');
    this.form.hidden = false;
    this.#scopes(value?.on ?? 'all');
    this.#forget();
    (name ? this.rows.querySelector('.fleet-value') : first).focus();
    this.form.scrollIntoView({ block: 'nearest' });
  }

  close() {
    this.form.hidden = true;
    this.#forget();
    $('fleet-new').focus();
  }

  #forget() {
    this.#edited();
    this.#followed = null;
    this.progress.hidden = true;
    this.status.textContent = '';
    this.answers.replaceChildren();
  }

  #add(name, value) {
    const number = this.rows.children.length + 1;
    const label = (text) => (number === 1 ? text : `${text} ${number}`);
    const flag = el('input', { class: 'fleet-name', list: 'fleet-names', value: name, placeholder: 'Flag', 'aria-label': label('Flag'), autocomplete: 'off', spellcheck: 'false', required: true });
    const text = el('input', { class: 'fleet-value', value, placeholder: 'Value', 'aria-label': label('Value'), autocomplete: 'off', spellcheck: 'false', disabled: this.drops.checked });
    const row = el('div', { class: 'fleet-row' }, flag, text);
    if (number > 1) row.append(button('✕', () => { row.remove(); this.#edited(); }, { class: 'quiet icon', 'aria-label': `Remove flag ${number}` }));
    this.rows.append(row);
    return flag;
  }

  #scopes(chosen) {
    const members = this.fleet.concerned('all');
    const group = (kind, values) => (values.length ? el('optgroup', { label: `One ${kind}` },
      ...[...new Set(values)].sort().map((value) => el('option', { value: `${kind}:${value}` }, `${kind} ${value}`))) : null);
    const groups = [group('role', members.map((each) => each.role).filter(Boolean)), group('host', members.map((each) => each.host).filter(Boolean)),
      group('member', members.map((each) => each.name))].filter(Boolean);
    this.scope.replaceChildren(el('option', { value: 'all' }, `all ${members.length} members`), ...groups);
    this.scope.value = chosen;
    if (this.scope.selectedIndex < 0) this.scope.value = 'all';
  }

  #timed() {
    this.own.hidden = this.time.value !== 'own';
    if (!this.own.hidden) this.own.focus();
  }

  #dropped() {
    for (const each of this.rows.querySelectorAll('.fleet-value')) each.disabled = this.drops.checked;
  }

  #edited() {
    this.#checked = '';
    this.applying.disabled = true;
    this.failure.textContent = '';
  }

  // ---- Asking ----

  #body() {
    const body = { set: {}, reason: this.reason.value.trim(), confirm: [] };
    for (const row of this.rows.children) {
      const name = row.querySelector('.fleet-name').value.trim();
      const flag = this.fleet.app.store.flags.get(name);
      body.set[name] = this.drops.checked ? null : row.querySelector('.fleet-value').value;
      if (flag && isUnsafe(flag)) body.confirm.push(name);
    }
    const [kind, ...which] = this.scope.value.split(':');
    if (kind !== 'all') body[kind] = which.join(':');
    if (this.time.value) body.for = this.time.value === 'own' ? this.own.value.trim() : this.time.value;
    const step = this.step.value.trim();
    if (step) body.at_step = /^\d+$/.test(step) ? Number(step) : step;
    return body;
  }

  async #post(body) {
    this.#busy = true;
    this.applying.disabled = true;
    this.fleet.wake();
    const confirm = [...new Set([...body.confirm, ...Object.keys(body.set).filter((name) => this.#unsafe.has(name))])];
    try {
      return await this.fleet.app.root.post(`${this.fleet.path}/changes`, { ...body, confirm });
    } catch (problem) {
      const names = problem.status === 428 ? problem.errors.map(({ name }) => name) : [];
      if (!body.dry_run || !names.some((name) => !this.#unsafe.has(name))) throw problem;
      for (const name of names) this.#unsafe.add(name);
    } finally {
      this.#busy = false;
    }
    return this.#post(body);
  }

  /** Ask all members whether they would take the change. */
  async check() {
    const body = this.#body();
    this.#forget();
    this.status.textContent = 'Asking the members';
    try {
      const answer = await this.#post({ ...body, dry_run: true, wait: PATIENCE });
      this.#show(answer.members, answer.silent, 'would take it', 'has not answered');
      this.#expect = answer.revision;
      this.#checked = JSON.stringify(body);
      const bad = answer.members.filter((each) => each.state !== 'accepted').length + answer.silent.length;
      this.status.textContent = `${answer.members.length - (bad - answer.silent.length)} of ${answer.members.length + answer.silent.length} members would take it`;
      this.status.dataset.ok = bad === 0;
      this.#force = bad > 0;
      this.applying.textContent = bad ? `Change it ${scopeText(this.scope.value)} anyway` : `Change it ${scopeText(this.scope.value)}`;
      this.applying.disabled = this.#checked !== JSON.stringify(this.#body());
      if (!this.applying.disabled) this.applying.focus();
    } catch (problem) {
      this.status.textContent = '';
      this.failure.textContent = problem.message;
    }
  }

  async apply() {
    const body = this.#body();
    if (this.#busy || this.#checked !== JSON.stringify(body) || !(await this.#meant(body))) return;
    const on = this.scope.value;
    this.#checked = '';
    this.status.textContent = 'Changing';
    try {
      const answer = await this.#post({ ...body, force: this.#force, expect: this.#expect, wait: PATIENCE });
      this.form.hidden = true;
      this.#followed = { revision: answer.revision, on };
      say(`Revision ${answer.revision} of the fleet: ${Object.keys(body.set).join(', ')}, ${scopeText(on)}`);
      $('fleet-side').focus();
      this.touched();
    } catch (problem) {
      this.status.textContent = '';
      this.failure.textContent = problem.message;
      complain(`Nothing was changed: ${problem.message}`);
    }
    this.fleet.wake();
  }

  #meant(body) {
    const unsafe = Object.keys(body.set).filter((name) => body.confirm.includes(name) || this.#unsafe.has(name));
    if (!unsafe.length) return true;
    return confirmed('Change an unsafe flag in the fleet?', [el('p', {}, `${unsafe.join(', ')}: unsafe to change while the program runs, says the definition.`)], 'Change it anyway');
  }

  // ---- Answers ----

  /** The fleet was seen again: show who has answered. */
  touched() {
    const followed = this.#followed;
    if (!followed || !this.fleet.known) return;
    const members = this.fleet.concerned(followed.on);
    const answered = [];
    const silent = [];
    for (const member of members) {
      const answer = member.answers.find((each) => each.revision === followed.revision);
      if (answer) answered.push({ name: member.name, ...answer });
      else silent.push({ name: member.name, why: member.why || 'no answer yet' });
    }
    this.progress.hidden = false;
    this.progress.max = Math.max(1, members.length);
    this.progress.value = answered.filter((each) => each.state !== WAITING).length;
    const good = answered.filter((each) => GOOD.includes(each.state) && each.state !== WAITING).length;
    const text = `Revision ${followed.revision}: ${good} of ${members.length} members have taken it`;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.dataset.ok = silent.length === 0 && answered.every((each) => GOOD.includes(each.state));
    this.#show(answered, silent, 'have taken it');
    if (this.progress.value === members.length) this.#followed = null;
  }

  #show(answered, silent, good) {
    const groups = new Map();
    for (const { name, state, why } of answered) {
      const key = state === 'applied' ? good : why ? `${state}: ${shortened(why, this.fleet.known.url)}` : state;
      groups.set(key, [...groups.get(key) ?? [], name]);
    }
    for (const { name, why } of silent) groups.set(why, [...groups.get(why) ?? [], name]);
    const isBad = (key) => key !== good && !GOOD.some((word) => key.startsWith(word));
    const items = [...groups].sort(([a], [b]) => isBad(b) - isBad(a)).map(([key, names]) => el('li', { class: isBad(key) ? 'bad' : '' },
      el('span', { class: 'count' }, names.length), ' ', el('span', { class: 'word' }, key), el('div', { class: 'hint' }, listed(names.sort(), 8))));
    this.answers.replaceChildren(...items);
  }
}
