/* The table of names. Nodes never move. */
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/text.h"
#include "names.h"

#define LINE 64u /* bytes of a cache line; chunks are aligned to it */

static pd__names names;
const void *const pd__names_place = &names;

/* Few names are spelled with a `-`: not inlined, so that the others don't need its registers. */
static __attribute__((noinline)) bool is_same_ignoring_dashes(const char *stored, const char *name,
                                                              size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (pd__normalize_dash(stored[i]) != pd__normalize_dash(name[i])) return false;
  }
  return true;
}

#define FIVE(first)                                                                                \
  [first] = true, [first + 1] = true, [first + 2] = true, [first + 3] = true, [first + 4] = true
#define LETTERS(a) FIVE(a), FIVE(a + 5), FIVE(a + 10), FIVE(a + 15), FIVE(a + 20), [a + 25] = true

bool pd__name_is_valid(const char *name, size_t length) {
  /* The bytes allowed in a name. The first must be a letter or `_`. */
  static const bool inner[256] = {['-'] = true, ['.'] = true, ['_'] = true, FIVE('0'),
                                  FIVE('5'),    LETTERS('A'), LETTERS('a')};
  if (length == 0 || length > PD_NAME_MAX || (unsigned char)*name < 'A') return false;
  bool valid = true;
#pragma GCC unroll 8
  for (size_t i = 0; i < length; i++) valid &= inner[(unsigned char)name[i]];
  return valid;
}

/* ---- The table ---- */

static pd_flag *get_node(uint32_t index) {
  return &names.chunks[index / PD__CHUNK].nodes[index % PD__CHUNK];
}

pd_flag *pd__names_get_node(uint32_t index) { return index < names.count ? get_node(index) : NULL; }

uint32_t pd__names_count(void) { return names.count; }

static inline bool is_same_name(uint32_t item, const void *key) {
  const pd__hashed_key *wanted = key;
  const pd_flag *node = get_node(item - 1);
  if (node->length != wanted->length) return false;
  return !memcmp(node->name, wanted->name, wanted->length) ||
         is_same_ignoring_dashes(node->name, wanted->name, wanted->length);
}

/* A `-` in a name counts as `_`. */
static uint32_t hash_name(const char *name, size_t length) {
  char folded[PD_NAME_MAX];
  if (!memchr(name, '-', length)) return pd__hash_text(name, length);
  for (size_t i = 0; i < length; i++) folded[i] = pd__normalize_dash(name[i]);
  return pd__hash_text(folded, length);
}

static inline pd_flag *find_node_by_hash(const char *name, size_t length, uint32_t hash) {
  pd__hashed_key wanted = {name, (uint32_t)length, hash};
  uint32_t item = pd__table_find(&names.table, hash, is_same_name, &wanted);
  return item ? get_node(item - 1) : NULL;
}

pd__hashed_key pd__names_make_hashed_key(const char *name, size_t length) {
  pd__hashed_key wanted = {name, (uint32_t)length, hash_name(name, length)};
  pd__table_prefetch(&names.table, wanted.hash);
  return wanted;
}

static __attribute__((noinline)) pd_flag *find_dashed_name(const char *name, size_t length) {
  return memchr(name, '-', length) ? find_node_by_hash(name, length, hash_name(name, length))
                                   : NULL;
}

/* Few names have a `-`, so first try the name as it is spelled. */
pd_flag *pd__names_find(const char *name, size_t length) {
  if (length > PD_NAME_MAX) return NULL;
  pd_flag *node = find_node_by_hash(name, length, pd__hash_text(name, length));
  return node ? node : find_dashed_name(name, length);
}

bool pd__names_reserve(size_t count) { return pd__table_reserve(&names.table, count); }

/* ---- Nodes ---- */

static bool add_chunk(void) {
  uint32_t number = names.count / PD__CHUNK;
  if (number == names.chunk_room) {
    uint32_t room = names.chunk_room ? 2 * names.chunk_room : 16;
    pd__chunk *chunks = realloc(names.chunks, room * sizeof *chunks);
    if (!chunks) return false;
    names.chunks = chunks;
    names.chunk_room = room;
  }
  char *memory = calloc(1, PD__CHUNK * sizeof(pd_flag) + LINE);
  if (!memory) return false;
  size_t past = (uintptr_t)memory % LINE;
  pd_flag *nodes = (pd_flag *)(void *)(memory + (past ? LINE - past : 0));
  names.chunks[number] = (pd__chunk){nodes, memory};
  return true;
}

/* Returns a node that is all zeros except for its index; NULL if memory is out. */
static pd_flag *alloc_node(void) {
  pd_flag *node = names.released;
  if (node) {
    names.released = node->next_listed ? get_node(node->next_listed - 1) : NULL;
    node->next_listed = 0;
    return node;
  }
  if (names.count % PD__CHUNK == 0 && !add_chunk()) return NULL;
  node = get_node(names.count);
  node->index = names.count++;
  return node;
}

pd_flag *pd__names_find_or_add_hashed(const pd__hashed_key *wanted) {
  pd_flag *node = find_node_by_hash(wanted->name, wanted->length, wanted->hash);
  if (node) return node;
  if (!pd__table_reserve(&names.table, 1) || !(node = alloc_node())) return NULL;
  node->name = wanted->name;
  node->length = (uint16_t)wanted->length;
  pd__table_add(&names.table, wanted->hash, node->index + 1);
  return node;
}

pd_flag *pd__names_find_or_add(const char *name, size_t length) {
  pd__hashed_key wanted = {name, (uint32_t)length, hash_name(name, length)};
  return pd__names_find_or_add_hashed(&wanted);
}

bool pd__names_store_name(pd_flag *node, const char *name, size_t length) {
  char text[PD_NAME_MAX + 1];
  memcpy(text, name, length);
  text[length] = '\0';
  const char *stored = pd__intern_text(text);
  if (stored) node->name = stored;
  return stored != NULL;
}

void pd__names_clear_name(pd_flag *node) {
  node->name = "";
  node->length = 0;
}

/* Whatever was a flag or an alias is known. Imports or values may wait for another name. */
static bool is_node_needed(const pd_flag *node) {
  const pd__extra *extra = node->extra;
  if (node->known || node->cells || !*node->name) return true;
  return extra && (extra->pending || extra->references);
}

bool pd__names_free_if_unused(pd_flag *node) {
  if (is_node_needed(node)) return false;
  pd__table_remove(&names.table, hash_name(node->name, node->length), node->index + 1);
  free(node->extra);
  *node = (pd_flag){.index = node->index};
  node->next_listed = names.released ? names.released->index + 1 : 0;
  names.released = node;
  return true;
}

void pd__names_free_or_intern(pd_flag *node, const char *text) {
  if (pd__names_free_if_unused(node) || node->name != text) return;
  if (!pd__names_store_name(node, text, node->length)) pd__names_clear_name(node);
}

bool pd__name_retain(pd_flag *node) {
  pd__extra *extra = pd__flag_ensure_extra(node);
  if (extra) extra->references++;
  return extra != NULL;
}

void pd__name_release(pd_flag *node) { node->extra->references--; }

pd_flag *pd__names_next(const pd_flag *previous) {
  uint32_t index = previous ? previous->index + 1 : 0;
  while (index < names.count && !get_node(index)->name) index++;
  return pd__names_get_node(index);
}

pd__extra *pd__flag_ensure_extra(pd_flag *node) {
  if (!node->extra) node->extra = calloc(1, sizeof *node->extra);
  node->extended = node->extra != NULL;
  return node->extra;
}

uint32_t pd__last_visit_mark;

/* After 2^32 numbers, they begin again: those that nodes have from before must go. */
uint32_t pd__names_reserve_visit_marks(uint32_t count) {
  if (count > UINT32_MAX - pd__last_visit_mark) {
    for (uint32_t i = 0; i < names.count; i++) get_node(i)->visit_mark = 0;
    pd__last_visit_mark = 0;
  }
  uint32_t first = pd__last_visit_mark + 1;
  pd__last_visit_mark += count;
  return first;
}

/* ---- The order of definition ---- */

void pd__names_append_to_list(pd_flag *flag) {
  if (flag->next_listed || flag == names.last_listed) return;
  *(names.last_listed ? &names.last_listed->next_listed : &names.first_listed) = flag->index + 1;
  names.last_listed = flag;
}

pd_flag *pd__names_next_listed(const pd_flag *previous) {
  uint32_t next = previous ? previous->next_listed : names.first_listed;
  return next ? get_node(next - 1) : NULL;
}
