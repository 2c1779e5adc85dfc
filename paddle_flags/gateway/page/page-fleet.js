// A fleet: its members, the flags that differ, and what the fleet was told.

import { $, button, el } from './page-dom.js';
import { Grid } from './page-grid.js';
import { cell } from './page-list.js';
import { FleetChange } from './page-fleet-change.js';
import { ABSENT, GOOD, WELL, concerned, scopeText, shortened } from './page-fleet-text.js';
import { clock, shown } from './page-text.js';

const OLD = 5; // seconds

export class Fleet {
  known = null; // the latest answer
  #said = ''; // the same as text, without its age
  #failure = '';
  #chosen = null; // {member} or {flag}
  #wake = () => {};
  #words = [];
  #processes = []; // that the gateway shows

  constructor(app) {
    this.app = app;
    this.members = new Grid($('fleet-members'), { draw: (item) => this.#drawMember(item.member), open: (item) => this.#choose({ member: item.key }) });
    this.differences = new Grid($('fleet-differences'), { draw: (item) => this.#drawDifference(item.difference), open: (item) => this.#choose({ flag: item.key }) });
    this.change = new FleetChange(this);
    this.detail = el('section', { class: 'fleet-detail', 'aria-live': 'polite' });
    this.log = el('section', {});
    this.values = el('section', {});
    $('fleet-side').append(this.change.element, this.detail, this.values, this.log);
    $('fleet-search').addEventListener('input', () => this.arrange());
    $('fleet-odd').addEventListener('change', () => this.arrange());
    $('fleet-toolbar').addEventListener('submit', (event) => event.preventDefault());
    $('fleet-new').addEventListener('click', () => this.change.open());
  }

  get grid() {
    return this.members;
  }

  /** Ask again now. */
  wake() {
    this.#wake();
  }

  /** Ask for as long as the page is open: often while somebody looks. */
  async run(number, you) {
    this.path = `/fleets/${number}`;
    this.number = number;
    this.you = you;
    for (;;) {
      try {
        this.#take(await this.app.root.get(this.path));
      } catch (problem) {
        this.#fail(problem);
      }
      const seen = this.app.view === 'fleet' && !document.hidden;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, !seen ? 15000 : this.change.waits ? 400 : 1000);
        this.#wake = () => { clearTimeout(timer); resolve(); };
      });
    }
  }

  #take(answer) {
    for (const member of answer.members) {
      member.why = shortened(member.why, answer.url);
      for (const each of [...member.answers, ...member.problems]) each.why = shortened(each.why, answer.url);
    }
    const said = JSON.stringify({ ...answer, age: 0, problem: '' });
    this.known = answer;
    this.#failure = '';
    $('fleet-tab').hidden = false;
    this.#warn();
    if (said === this.#said) return;
    this.#said = said;
    this.arrange();
  }

  #fail(problem) {
    if (problem.status === 404) {
      this.known = null;
      this.#said = '';
      $('fleet-tab').hidden = true;
      if (this.app.view === 'fleet') this.arrange();
    }
    this.#failure = problem.message;
    this.#warn();
  }

  /** Say when what is shown is old. */
  #warn() {
    const { known } = this;
    const why = this.#failure || known?.problem || '';
    const old = known && (known.age === null || known.age > OLD);
    const ago = known?.age > OLD ? ` This is what was seen ${Math.round(known.age)} s ago.` : '';
    const text = why ? `${why}.${ago}` : old ? `The engine of the fleet does not answer.${ago}` : '';
    $('fleet-problem').hidden = !text;
    if ($('fleet-problem').textContent !== text) $('fleet-problem').textContent = text;
    $('fleet-members').parentElement.classList.toggle('old', Boolean(text));
  }

  // ---- Lists ----

  #isOdd(member) {
    return !WELL.includes(member.state) || member.problems.length > 0;
  }

  /** The state of a member, and what it didn't take, in the words of the command. */
  #stateOf(member) {
    const { state, why, problems } = member;
    const word = (text, kind) => el('span', { class: `word ${kind}` }, text);
    return [word(state, WELL.includes(state) ? state : 'bad'), why ? `: ${why}` : '', ...[...problems].reverse()
      .flatMap((each) => [`, revision ${each.revision}: `, word(each.state, 'bad'), each.why ? `: ${each.why}` : ''])];
  }

  #matches(...texts) {
    const text = texts.join('\n').toLowerCase();
    return this.#words.every((word) => text.includes(word));
  }

  arrange() {
    const { known } = this;
    $('fleet-new').hidden = !known || !this.you.may.includes('change');
    if (!known) {
      this.members.show([], 'Nothing is known of this fleet.');
      this.differences.show([], '');
      $('count-fleet').textContent = '';
      $('fleet-shown').textContent = '';
      return;
    }
    this.#words = $('fleet-search').value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = $('fleet-odd').checked;
    const odd = known.members.filter((member) => this.#isOdd(member));
    const ordered = [...odd, ...known.members.filter((member) => !odd.includes(member))];
    const found = (only ? odd : ordered)
      .filter((member) => this.#matches(member.name, member.role ?? '', member.host, member.state, member.why, ...member.problems.flatMap((each) => [each.state, each.why])))
      .map((member) => ({ key: member.name, member }));
    this.members.show(found, known.count ? 'No member matches.' : 'No process has joined this fleet.');
    const differing = known.differences
      .filter((each) => this.#matches(each.name, ...each.holders.flatMap((holder) => [holder.value ?? '', holder.source, ...holder.members])))
      .map((difference) => ({ key: difference.name, difference }));
    this.differences.show(differing, known.differing ? 'No flag matches.' : 'All members have the same values.');
    $('count-fleet').textContent = known.present;
    $('fleet-shown').textContent = `Revision ${known.revision}, ${known.present === 1 ? '1 member' : `${known.present} members`}`
      + `, ${odd.length || 'none'} with problems, ${known.differing === 1 ? '1 flag differs' : `${known.differing || 'no'} flags differ`}`;
    this.change.touched();
    this.#drawDetail();
    this.#drawValues();
    this.#drawLog();
  }

  #isThis(member) {
    const { process } = this.app.store;
    return process !== null && member.pid === process.pid && member.host === process.host;
  }

  #drawMember(member) {
    const absent = ABSENT.includes(member.state);
    const behind = member.revision < this.known.revision;
    const state = cell('cell-state', ...this.#stateOf(member), member.step === null ? '' : ` step ${member.step}`);
    return el('div', { class: `flag member ${this.#isOdd(member) ? 'bad' : ''}`, title: state.textContent },
      cell('cell-name', el('span', { class: 'name' }, member.name), this.#isThis(member) ? el('span', { class: 'mark' }, 'this process') : null),
      cell('cell-role', member.role ?? ''), cell('cell-rank', member.rank ?? ''), cell('cell-host', member.host),
      cell(behind ? 'cell-revision behind' : 'cell-revision', absent ? '' : String(member.revision)), state);
  }

  #drawDifference({ name, sensitive, holders }) {
    const parts = holders.flatMap((holder, at) => [
      at ? ' · ' : '', el('span', { class: 'value' }, sensitive ? 'another secret' : holder.value ?? 'not defined'),
      ` in ${holder.members.length}`, at ? ` (${holder.members.slice(0, 3).join(', ')}${holder.members.length > 3 ? ', …' : ''})` : '']);
    return el('div', { class: 'flag differs' }, cell('cell-name', el('span', { class: 'name' }, name)), cell('cell-values', ...parts));
  }

  // ---- The side ----

  async #choose(what) {
    this.#chosen = what;
    this.#drawDetail();
    this.detail.scrollIntoView({ block: 'nearest' });
    if (!what.member) return;
    this.#processes = await this.app.root.get('/processes').then((answer) => answer.processes, () => []);
    this.#drawDetail();
  }

  /** A link to the flags of a member that the gateway shows, too. */
  #linkTo(member) {
    const served = this.#processes.some((each) => each.pid === member.pid && each.host === member.host);
    return served && !this.#isThis(member) ? el('p', {}, el('a', { href: `?pid=${member.pid}&fleet=${this.number}` }, 'Flags of this process')) : '';
  }

  #drawDetail() {
    const chosen = this.#chosen;
    const member = this.known.members.find((each) => each.name === chosen?.member);
    const difference = this.known.differences.find((each) => each.name === chosen?.flag);
    const rows = member ? this.#ofMember(member) : difference ? this.#ofDifference(difference) : [];
    this.detail.replaceChildren(...rows);
  }

  #ofMember(member) {
    const answers = [...member.answers].reverse().map((answer) => el('li', { class: GOOD.includes(answer.state) ? '' : 'bad' },
      el('span', { class: 'number' }, `#${answer.revision}`), ' ', el('span', { class: 'word' }, answer.state), answer.why ? `: ${answer.why}` : ''));
    return [el('h3', {}, member.name), el('p', {}, ...this.#stateOf(member)),
      el('p', { class: 'hint' }, [member.role && `role ${member.role}`, member.host && `host ${member.host}`, member.pid && `pid ${member.pid}`].filter(Boolean).join(', ')),
      this.#linkTo(member), el('ul', { class: 'answers' }, ...answers)];
  }

  #ofDifference({ name, sensitive, holders }) {
    const items = holders.map((holder) => el('li', {},
      el('span', { class: 'value' }, sensitive ? 'another secret' : holder.value ?? 'not defined'), ' ',
      el('span', { class: 'source' }, holder.source), el('div', { class: 'hint' }, holder.members.join(', '))));
    return [el('h3', {}, name), el('ul', { class: 'answers' }, ...items),
      this.you.may.includes('change') ? el('p', {}, button('Change it for the fleet', () => this.change.open(name), { class: 'small' })) : null].filter(Boolean);
  }

  #shown(name, text) {
    return text === null ? 'not set' : shown(this.app.store.flags.get(name) ?? {}, text);
  }

  #drawValues() {
    const items = this.known.values.slice(0, 100).map((value) => el('li', {},
      button(value.name, () => this.change.open(value.name, value), { class: 'link name' }), ' ',
      el('span', { class: 'value' }, this.#shown(value.name, value.value)), ' ',
      el('span', { class: 'source' }, `${scopeText(value.on)}, revision ${value.revision}`)));
    this.values.replaceChildren(el('h3', {}, 'Values of the fleet'),
      items.length ? el('ul', { class: 'answers' }, ...items) : el('p', { class: 'hint' }, 'None yet.'));
  }

  #drawLog() {
    const items = this.known.changes.map((change) => el('li', { class: `change ${change.state.replace(' ', '-')}` },
      el('div', { class: 'change-head' }, el('span', { class: 'number' }, `#${change.revision}`),
        change.at ? el('time', { datetime: change.at }, clock(change.at)) : null, el('span', { class: 'what' }, change.state),
        change.at_step === null ? null : el('span', {}, `at step ${change.at_step}`), change.for === null ? null : el('span', {}, `for ${change.for} s`)),
      el('div', { class: 'sets' }, change.ends === null ? '' : `End of revision ${change.ends}`,
        ...change.changes.slice(0, 20).map(({ on, name, value }) => el('span', { class: 'set' },
          el('code', {}, value === null ? `−${name}` : `${name} = ${this.#shown(name, value)}`), on === 'all' ? '' : ` ${scopeText(on)}`))),
      change.reason ? el('p', { class: 'why' }, change.reason) : null,
      change.state === 'aborted' ? el('p', { class: 'error' }, change.verdict) : null,
      el('p', { class: 'hint' }, change.by)));
    this.log.replaceChildren(el('h3', {}, 'Latest changes of the fleet'),
      items.length ? el('ol', { class: 'changes' }, ...items) : el('p', { class: 'hint' }, 'None yet.'));
  }

  /** The members that a choice concerns. */
  concerned(on) {
    return this.known.members.filter((member) => concerned(member, on) && !ABSENT.includes(member.state));
  }
}
