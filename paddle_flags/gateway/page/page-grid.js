// A list of any length: only the rows in view are elements. The keyboard moves an active row, which
// stays the focus of screen readers through aria-activedescendant.

const SPARE = 8; // rows above and below the view

export class Grid {
  #items = [];
  #rows = new Map(); // by index
  #active = -1;

  /** `draw(item)` returns a row without its place; `open(item)` is what Enter does. */
  constructor(root, { draw, open, fold }) {
    this.root = root;
    this.draw = draw;
    this.open = open;
    this.fold = fold;
    this.body = document.createElement('div');
    this.body.className = 'rows';
    this.body.setAttribute('role', 'rowgroup');
    root.append(this.body);
    this.nothing = document.createElement('p');
    this.nothing.className = 'nothing';
    this.nothing.setAttribute('role', 'status');
    root.after(this.nothing);
    root.addEventListener('scroll', () => this.#render(), { passive: true });
    root.addEventListener('keydown', (event) => this.#key(event));
    root.addEventListener('click', (event) => this.#click(event));
    root.addEventListener('focus', () => { if (this.#active < 0 && root.matches(':focus-visible')) this.move(1); });
    new ResizeObserver(() => this.#measure()).observe(root);
  }

  /** Show these items: {key, group} and whatever `draw` needs; or if there are none, why. */
  show(items, nothing) {
    const why = items.length ? '' : nothing;
    if (this.nothing.textContent !== why) this.nothing.textContent = why;
    this.nothing.hidden = !why;
    this.root.hidden = Boolean(why);
    const key = this.#items[this.#active]?.key;
    this.#items = items;
    this.#active = items.findIndex((item) => item.key === key);
    this.#rows.clear();
    this.root.setAttribute('aria-rowcount', items.length);
    this.root.style.setProperty('--rows', items.length);
    if (!items.length) this.body.replaceChildren(); // what isn't seen isn't drawn
    this.#measure();
  }

  /** Whether somebody is about to choose a row. */
  get inUse() {
    return this.root.matches(':hover, :focus');
  }

  get items() {
    return this.#items;
  }

  #measure() {
    const size = parseFloat(getComputedStyle(this.root).getPropertyValue('--row')) || 30;
    this.size = size;
    this.body.style.height = `${this.#items.length * size}px`;
    this.#rows.clear();
    this.#render();
  }

  /** Draw the rows of these keys again, where they are in view. The elements stay, so that a click
   *  in the meantime isn't lost. */
  update(keys, mark = false) {
    for (const [index, row] of this.#rows) {
      if (!keys.has(this.#items[index].key)) continue;
      const fresh = this.draw(this.#items[index]);
      if (mark) fresh.classList.add('touched');
      row.className = fresh.className;
      for (const animation of row.getAnimations()) animation.currentTime = 0;
      row.replaceChildren(...fresh.childNodes);
    }
  }

  #make(index) {
    const item = this.#items[index];
    const row = this.draw(item);
    row.id = `${this.root.id}-${index}`;
    row.dataset.index = index;
    row.setAttribute('role', 'row');
    row.setAttribute('aria-rowindex', index + 1);
    row.setAttribute('aria-level', item.group ? 1 : 2);
    row.style.transform = `translateY(${index * this.size}px)`;
    return row;
  }

  #render() {
    const { scrollTop, clientHeight } = this.root;
    if (!clientHeight) return;
    const first = Math.max(0, Math.floor(scrollTop / this.size) - SPARE);
    const last = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / this.size) + SPARE);
    const rows = new Map();
    for (let index = first; index < last; index += 1) rows.set(index, this.#rows.get(index) ?? this.#make(index));
    if (this.#active >= 0 && this.#active < this.#items.length && !rows.has(this.#active)) {
      rows.set(this.#active, this.#rows.get(this.#active) ?? this.#make(this.#active));
    }
    this.#rows = rows;
    const wanted = new Set(rows.values());
    for (const row of [...this.body.children]) if (!wanted.has(row)) row.remove();
    let next = this.body.firstChild;
    for (const [, row] of [...rows].sort(([a], [b]) => a - b)) {
      if (row === next) next = next.nextSibling;
      else this.body.insertBefore(row, next);
    }
    this.#point();
  }

  #point() {
    for (const [index, row] of this.#rows) row.setAttribute('aria-selected', index === this.#active);
    if (this.#active >= 0) this.root.setAttribute('aria-activedescendant', `${this.root.id}-${this.#active}`);
    else this.root.removeAttribute('aria-activedescendant');
  }

  get active() {
    return this.#items[this.#active];
  }

  /** Make a row the active one, and bring it into view. */
  activate(index) {
    if (!this.#items.length) return;
    this.#active = Math.max(0, Math.min(this.#items.length - 1, index));
    const top = this.#active * this.size;
    const { scrollTop, clientHeight } = this.root;
    if (top < scrollTop) this.root.scrollTop = top;
    else if (top + this.size > scrollTop + clientHeight) this.root.scrollTop = top + this.size - clientHeight;
    this.#render();
  }

  move(by) {
    this.activate(this.#active + by);
  }

  /** The first row that isn't a group. */
  first() {
    this.activate(this.#items.findIndex((item) => !item.group));
  }

  #click(event) {
    const row = event.target.closest('[data-index]');
    if (!row) return;
    this.activate(Number(row.dataset.index));
    this.#enter();
  }

  #enter() {
    const item = this.active;
    if (item?.group) this.fold?.(item);
    else if (item) this.open(item);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.size) - 1);
    const actions = {
      ArrowDown: () => this.move(1),
      ArrowUp: () => this.move(-1),
      PageDown: () => this.move(page),
      PageUp: () => this.move(-page),
      Home: () => this.activate(0),
      End: () => this.activate(this.#items.length - 1),
      ArrowLeft: () => this.#side(true),
      ArrowRight: () => this.#side(false),
      Enter: () => this.#enter(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }

  /** Close or open a group; on another row, go to its group first. */
  #side(close) {
    const item = this.active;
    if (item?.group && item.open === close) this.fold?.(item);
    else if (item && !item.group && close) {
      let index = this.#active;
      while (index > 0 && !this.#items[index].group) index -= 1;
      this.activate(index);
    }
  }
}
