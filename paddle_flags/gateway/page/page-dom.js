// Elements. All text is set as text; nothing here or elsewhere reads HTML from a string.

export const $ = (id) => document.getElementById(id);

/** Make an element. Functions become listeners, true and false attributes with and without. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A button of this text. */
export function button(text, click, attributes = {}) {
  return el('button', { type: 'button', click, ...attributes }, text);
}

let fading = 0;

function show(id, time, ...content) {
  const clear = () => { for (const each of ['toast', 'alarm']) $(each).replaceChildren(); };
  clear();
  clearTimeout(fading);
  $(id).append(...content);
  fading = setTimeout(clear, time);
}

/** Say what has happened, also to screen readers; `more` are elements. */
export const say = (text, ...more) => show('toast', more.length ? 12000 : 6000, text, ...more);

/** Say what went wrong. */
export const complain = (text) => show('alarm', 15000, text);

/** Ask before something that can hurt; resolves to true or false. */
export function confirmed(title, body, yes) {
  const dialog = $('confirm');
  $('confirm-title').textContent = title;
  $('confirm-body').replaceChildren(...body);
  $('confirm-yes').textContent = yes;
  dialog.returnValue = 'cancel';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

/** Call `work` once for several calls within `time` milliseconds, never twice at once. */
export function coalesced(work, time) {
  let waiting = false;
  let again = false;
  return function call() {
    again = waiting;
    if (waiting) return;
    waiting = true;
    setTimeout(async () => {
      again = false;
      try {
        await work();
      } finally {
        waiting = false;
        if (again) call();
      }
    }, time);
  };
}
