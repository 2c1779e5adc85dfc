// The page: wires its parts together, and holds the views, the keys and the theme. The query says
// what is shown: a process (pid), beside another one (with), a fleet, or all processes.

import { $, button, complain, el, say } from './page-dom.js';
import { Api, Session } from './page-api.js';
import { Store } from './page-store.js';
import { List } from './page-list.js';
import { Panel } from './page-panel.js';
import { Tray } from './page-tray.js';
import { Changes } from './page-changes.js';
import { Compare } from './page-compare.js';
import { Fleet } from './page-fleet.js';
import { Processes } from './page-processes.js';
import { clock, countdown, person } from './page-text.js';

const BASE = new URL('./', window.location.href).pathname;
const QUERY = new URLSearchParams(window.location.search);
const STATES = {
  connecting: 'Connecting',
  live: 'Live',
  polling: 'Live, polling',
  reconnecting: 'Reconnecting',
  stale: 'Stale',
  ended: 'Ended',
  locked: 'No token',
};
const OLD = ['stale', 'reconnecting', 'ended'];
const OF_PROCESS = ['flags', 'changes', 'compare'];

const session = new Session();
const app = {
  root: new Api(`${BASE}v1`, session),
  api: new Api('', session, { find: QUERY.has('pid') ? null : findOnly }),
  views: [], // that this page has
  open(name) {
    if (app.store.flags.has(name)) app.panel.open(name);
    else complain(`${name} is not defined any more`);
  },
  closed() {
    const grid = { flags: app.list.grid, compare: app.compare.grid, fleet: app.fleet.grid }[app.view];
    (grid?.root ?? $(app.view)).focus();
  },
  compareWith(pid) {
    window.location.href = `?pid=${app.store.process.pid}&with=${pid}#compare`;
  },
};
const baseOf = (pid) => `${BASE}v1/processes/${pid}`;
app.store = new Store(app.api);
app.tray = new Tray(app);
app.list = new List(app);
app.panel = new Panel(app);
app.changes = new Changes(app);
app.compare = new Compare(app);
app.fleet = new Fleet(app);
app.processes = new Processes(app);

function showProcess() {
  const { process } = app.store;
  $('program').textContent = process.program;
  $('where').textContent = `pid ${process.pid} on ${process.host}`;
  $('you').textContent = process.you.may.includes('change') ? '' : 'read only';
  $('you').title = `You are ${person(process.you)}`;
  showState();
}

function showState() {
  const { state, process, contact } = app.store;
  $('state').textContent = STATES[state];
  $('state').dataset.state = state;
  const old = OLD.includes(state);
  document.body.classList.toggle('old', old);
  $('notice').hidden = !['stale', 'ended', 'locked'].includes(state);
  $('notice').replaceChildren(...state === 'locked'
    ? ['Without a token, this server shows nothing. ', button('Give a token', () => app.store.wake(), { class: 'small' })]
    : state === 'ended' ? ['This process has ended, or does not serve its flags any more. ', el('a', { href: '?list' }, 'All processes')]
      : state === 'stale' ? [`No connection. These values were current at ${clock(contact)}.`] : []);
  const name = process ? `${process.program} ${process.pid}` : 'Flags';
  document.title = old ? `(${STATES[state].toLowerCase()}) ${name}` : name;
}

/** Show the view that the address names. */
function showView() {
  const wanted = window.location.hash.slice(1);
  app.view = app.views.includes(wanted) ? wanted : app.views[0];
  for (const view of ['processes', 'fleet', ...OF_PROCESS]) {
    $(`view-${view}`).hidden = view !== app.view;
    const link = view === 'processes' ? $('all-tab') : document.querySelector(`nav a[href="#${view}"]`);
    link.hidden = view !== 'processes' && !app.views.includes(view);
    if (view === app.view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (app.view === 'flags') app.list.arrange();
  if (app.view === 'compare') app.compare.arrange();
  if (app.view === 'fleet') app.fleet.wake();
}

function follow() {
  const { store } = app;
  store.addEventListener('process', showProcess);
  store.addEventListener('state', showState);
  store.addEventListener('changes', () => app.changes.draw());
  store.addEventListener('reset', ({ detail }) => {
    $('count-flags').textContent = store.flags.size;
    app.list.arrange();
    app.compare.arrange();
    app.panel.touched();
    app.tray.touched(detail);
  });
  store.addEventListener('flags', ({ detail }) => {
    app.list.touched(detail);
    if (app.view === 'compare') app.compare.touched(detail);
    if (detail.has(app.panel.name)) app.panel.touched();
    app.tray.touched(detail);
  });
}

/** Count down all that is temporary. */
function tick() {
  for (const shown of document.querySelectorAll('[data-ends]')) {
    const text = countdown((Number(shown.dataset.ends) - performance.now()) / 1000);
    if (shown.textContent !== text) shown.textContent = text;
  }
  const { store } = app;
  if (store.state === 'reconnecting' && Date.now() - store.contact > 20000) store.wake();
}

function setTheme(theme) {
  const label = `Color theme: ${theme === 'auto' ? 'automatic' : theme}`;
  document.documentElement.dataset.theme = theme;
  $('theme').setAttribute('aria-label', label);
  $('theme').title = label;
  localStorage.setItem('paddle_flags.theme', theme);
  return label;
}

function nextTheme() {
  const order = ['auto', 'light', 'dark'];
  const now = order.indexOf(document.documentElement.dataset.theme);
  say(setTheme(order[(now + 1) % order.length]));
}

function go(view) {
  if (app.views.includes(view)) window.location.hash = view;
}

const KEYS = {
  '/': () => $({ compare: 'compare-search', fleet: 'fleet-search', processes: 'processes' }[app.view] ?? 'search').focus(),
  '?': () => $('keys').showModal(),
  p: () => app.tray.focus(),
  t: nextTheme,
  0: () => { window.location.href = '?list'; },
  1: () => go('flags'),
  2: () => go('changes'),
  3: () => go('compare'),
  4: () => go('fleet'),
};

function escape(event) {
  const { target } = event;
  if (target.type === 'search' && target.value) {
    event.preventDefault();
    target.value = '';
    target.dispatchEvent(new Event('input'));
  } else if (app.panel.name !== null) app.panel.close();
  else app.closed();
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.key === 'Escape') escape(event);
  const typing = event.target.closest('input:not([type=checkbox], [type=range]), textarea, select');
  if (typing || !KEYS[event.key]) return;
  event.preventDefault();
  if (event.key === '/' && app.view === 'changes') window.location.hash = 'flags';
  KEYS[event.key]();
}

setTheme(localStorage.getItem('paddle_flags.theme') ?? 'auto');
$('theme').addEventListener('click', nextTheme);
$('help').addEventListener('click', KEYS['?']);
document.addEventListener('keydown', key);
window.addEventListener('hashchange', showView);
window.addEventListener('online', () => app.store.wake());
document.addEventListener('visibilitychange', () => { if (!document.hidden) { app.store.wake(); app.fleet.wake(); } });
window.addEventListener('beforeunload', (event) => { if (app.tray.pending.size) event.preventDefault(); });
setInterval(tick, 250);
follow();
begin();

function begin() {
  start().catch((problem) => {
    if (problem.status === 401) app.store.lock(begin);
    else complain(problem.message);
  });
}

/** Find out whether the only process is another one now. */
async function findOnly() {
  const { processes } = await app.root.get('/processes');
  const [only, ...others] = processes.filter((each) => !each.problem);
  if (only && !others.length) app.api.base = baseOf(only.pid);
}

/** Show a process, a fleet or all processes: what the query says, or the only one that there is. */
async function start() {
  const { fleets, you } = await app.root.get('/fleets');
  const { processes } = await app.root.get('/processes');
  const only = !QUERY.has('list') && !QUERY.has('fleet') && (processes.length || fleets.length) === 1;
  const pid = QUERY.get('pid') ?? (only ? processes[0]?.pid : undefined);
  const fleet = QUERY.get('fleet') ?? (only || pid !== undefined ? fleets[0]?.fleet : undefined);
  app.views = [...(pid === undefined ? [] : OF_PROCESS), ...(fleet === undefined ? [] : ['fleet'])];
  if (!app.views.length) app.views = ['processes'];
  $('you').textContent = you.may.includes('change') ? '' : 'read only';
  showView();
  if (fleet !== undefined) app.fleet.run(fleet, you);
  if (pid !== undefined) {
    app.api.base = baseOf(pid);
    app.store.run();
    app.store.addEventListener('reset', () => app.compare.offer(processes, QUERY.get('with')), { once: true });
    if (QUERY.has('with')) app.compare.follow(baseOf(QUERY.get('with')), QUERY.get('with'));
  } else {
    $('state').hidden = true;
    if (fleet === undefined) app.processes.run();
    else document.title = $('program').textContent = fleets.find((each) => String(each.fleet) === String(fleet))?.url ?? 'Fleet';
  }
}
