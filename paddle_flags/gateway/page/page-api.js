// Requests to the API of the gateway, its token, and streams of events.

import { $ } from './page-dom.js';

const KEY = 'paddle_flags.token';

/** An answer that is an error, in the words of the process. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `HTTP status ${status}`);
    this.status = status;
    this.errors = Array.isArray(body.errors) ? body.errors : [];
    this.current = body.current || {};
  }
}

/** Parse JSON, and keep integers of ranges exact: those with many digits become texts. */
export function parse(text) {
  // In a string, the quote after min would have a backslash before it.
  return JSON.parse(text.replace(/"(min|max)":\s*(-?\d{16,})(?=[\s,}])/g, '"$1":"$2"'));
}

async function problemOf(response) {
  try {
    return new Problem(response.status, parse(await response.text()));
  } catch {
    return new Problem(response.status, {});
  }
}

/** The token of this tab, and the form that asks for it. */
export class Session {
  #asking = null;

  get token() {
    return sessionStorage.getItem(KEY);
  }

  /** Resolve when the user has given a token other than the refused one. */
  ask(problem, refused) {
    if (this.token !== refused) return Promise.resolve();
    this.#asking ??= this.#form(problem, refused).finally(() => { this.#asking = null; });
    return this.#asking;
  }

  #form(problem, refused) {
    const [dialog, text, form] = [$('token'), $('token-text'), $('token-form')];
    $('token-why').textContent = refused ? `The token was refused: ${problem.message}` : problem.message;
    text.value = '';
    dialog.showModal();
    return new Promise((resolve, reject) => {
      form.onsubmit = () => {
        sessionStorage.setItem(KEY, text.value.trim());
        text.value = '';
        resolve();
      };
      $('token-cancel').onclick = () => dialog.close();
      dialog.onclose = () => reject(problem);
    });
  }
}

/** The API under a path of this origin: all of it, or of one process. */
export class Api {
  /** `find` changes the base to where a process is now, if it isn't there any more. */
  constructor(base, session, { asks = true, find = null } = {}) {
    this.base = base;
    this.session = session;
    this.asks = asks;
    this.find = find;
  }

  /** Request a path; ask for a token if the process wants one. */
  async request(path, options = {}) {
    for (;;) {
      const { base } = this;
      const { token } = this.session;
      const headers = { ...options.headers };
      if (token) headers.Authorization = `Bearer ${token}`;
      const response = await fetch(base + path, { cache: 'no-store', ...options, headers });
      if (response.ok) return response;
      const problem = await problemOf(response);
      if ([404, 502].includes(response.status)) await this.find?.();
      if (this.base !== base) continue;
      if (response.status !== 401 || !this.asks) throw problem;
      await this.session.ask(problem, token);
    }
  }

  async get(path) {
    return parse(await (await this.request(path)).text());
  }

  async post(path, body) {
    const headers = { 'Content-Type': 'application/json' };
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    return parse(await (await this.request(path, sent)).text());
  }
}

/** The server-sent events of a response. `alive` is called for all that arrives. */
export async function* eventsOf(response, alive) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event = { name: 'message', data: '', id: null };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const [, field, text] = /^([^:\r]*)(?:: ?)?(.*?)\r?$/.exec(line);
      if (field === 'event') event.name = text;
      else if (field === 'data') event.data += text;
      else if (field === 'id') event.id = text;
      else if (field === 'retry') yield { name: 'retry', data: text, id: null };
      else if (line.trim() === '') {
        if (event.data) yield event;
        event = { name: 'message', data: '', id: null };
      }
    }
  }
}
