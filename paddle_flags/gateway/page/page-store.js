// What is known of one process: its flags and changes, kept current by its stream of events.
// Emits "reset" (flags came or went), "flags" (some changed; detail: their names), "changes",
// "process" and "state".

import { Problem, eventsOf } from './page-api.js';
import { coalesced } from './page-dom.js';

const SILENCE = 25000; // A server sends something every 15 s.
const STALE = 20000;

export class Store extends EventTarget {
  flags = new Map();
  process = null;
  changes = [];
  state = 'connecting';
  contact = Date.now(); // when the values were known to be current
  #loaded = false;
  #epoch = '';
  #revision = 0; // of `flags`
  #last = ''; // the id of the last event
  #polls = false;
  #wake = () => {};

  constructor(api, { withChanges = true } = {}) {
    super();
    this.api = api;
    this.withChanges = withChanges;
    this.refresh = coalesced(() => this.read().catch(() => {}), 100);
    this.refreshChanges = coalesced(() => this.readChanges().catch(() => {}), 100);
  }

  #emit(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #become(state) {
    if (state === 'live' || state === 'polling') this.contact = Date.now();
    if (this.state === state) return;
    this.state = state;
    this.#emit('state');
  }

  /** Whether the flags were read. */
  get loaded() {
    return this.#epoch !== '';
  }

  /** Try again now: the network is back, or there is a token. */
  wake() {
    this.#wake();
  }

  /** There is no token; `again` is called when there may be one. */
  lock(again) {
    this.#wake = again;
    this.#become('locked');
  }

  /** Read everything, and follow the events for as long as the page is open. */
  async run() {
    for (let failures = 0; ; ) {
      const began = Date.now();
      let pause = null;
      try {
        if (!this.#loaded) await this.#readAll();
        pause = await this.#follow();
        if (Date.now() - began > 5000) failures = 0;
      } catch (error) {
        if (error instanceof Problem && error.status === 401) this.#become('locked');
        if (error instanceof Problem && error.status === 404 && !this.api.find) this.#become('ended');
      }
      this.#polls = pause !== null;
      if (this.#polls) failures = 0;
      else if (!['locked', 'ended'].includes(this.state)) this.#become(Date.now() - this.contact > STALE ? 'stale' : 'reconnecting');
      failures += 1;
      await this.#sleep(pause ?? Math.min(10000, 250 * 2 ** failures) * (0.75 + Math.random() / 2));
    }
  }

  #sleep(time) {
    return new Promise((resolve) => {
      const timer = this.state === 'locked' ? 0 : setTimeout(resolve, time);
      this.#wake = () => { clearTimeout(timer); resolve(); };
    });
  }

  /** Follow one stream to its end. Returns after how many ms to come back, if the server says so. */
  async #follow() {
    const abort = new AbortController();
    let watch = setTimeout(() => abort.abort(), SILENCE);
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(() => abort.abort(), SILENCE);
      this.contact = Date.now();
    };
    let retry = null;
    try {
      const headers = { 'Last-Event-ID': this.#last };
      const response = await this.api.request('/events', { headers, signal: abort.signal });
      this.#become(this.#polls ? 'polling' : 'live');
      for await (const event of eventsOf(response, alive)) {
        if (event.name === 'retry') retry = Number(event.data) || 1000;
        else await this.#take(event);
        if (event.id) this.#last = event.id;
      }
    } finally {
      clearTimeout(watch);
      abort.abort();
    }
    if (retry !== null) this.#become('polling');
    return retry;
  }

  async #take(event) {
    if (event.name === 'gap') await this.#readAll();
    if (event.name !== 'changes') return;
    const touched = new Set();
    for (const change of JSON.parse(event.data).changes) {
      this.#patch(change);
      touched.add(change.name);
    }
    this.#emit('flags', touched);
    this.refresh();
  }

  /** Show a new value at once; `refresh` reads the rest of the flag. */
  #patch(change) {
    const flag = this.flags.get(change.name);
    if (change.change || flag?.temporary || this.#mayLose(change.name)) this.refreshChanges();
    if (!flag || change.kind !== 'value' || change.revision <= flag.revision) return;
    const { source, place, revision } = change;
    const next = { ...flag, source, place, revision, temporary: undefined, words: undefined };
    if ('new' in change) Object.assign(next, { text: change.new, value: change.new });
    this.flags.set(flag.name, next);
  }

  /** Whether a change of this flag may keep an earlier change from being undone, or allow it again. */
  #mayLose(name) {
    return this.changes.some(({ state, flags }) => state !== 'undone' && flags.some((flag) => flag.name === name));
  }

  async #readAll() {
    this.process = await this.api.get('');
    this.#emit('process');
    await this.read();
    this.#last = `${this.#epoch}-${this.#revision}`;
    await this.readChanges();
    this.#loaded = true;
  }

  /** Read the flags that have changed. */
  async read() {
    const since = this.#epoch ? `?since=${this.#epoch}-${this.#revision}` : '';
    const answer = await this.api.get(`/flags${since}`);
    const { epoch, revision, complete, flags, removed } = answer;
    let moved = complete || removed.length > 0;
    if (complete) this.flags.clear();
    const now = performance.now();
    for (const flag of flags) {
      const known = this.flags.get(flag.name);
      if (flag.temporary) flag.ends = now + flag.temporary.left * 1000;
      moved ||= !known;
      if (!known || known.revision <= flag.revision) this.flags.set(flag.name, flag);
    }
    for (const name of removed) this.flags.delete(name);
    this.#epoch = epoch;
    this.#revision = revision;
    const names = new Set([...removed, ...flags.map((flag) => flag.name)]);
    if (moved || names.size) this.#emit(moved ? 'reset' : 'flags', names);
  }

  async readChanges() {
    if (!this.withChanges) return;
    this.changes = (await this.api.get('/changes')).changes;
    this.#emit('changes');
  }

  /** Seconds until a temporary change ends, by the clock of the process where a flag says so. */
  left(change) {
    for (const { name } of change.flags) {
      const flag = this.flags.get(name);
      if (flag?.temporary?.change === change.change) return (flag.ends - performance.now()) / 1000;
    }
    return (new Date(change.until) - Date.now()) / 1000;
  }
}
