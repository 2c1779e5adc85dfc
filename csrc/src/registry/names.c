/* The table of names: open addressing with linear probing over nodes that
 * never move. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/text.h"

#define CHUNK 512 /* nodes allocated at a time */
#define LINE 64   /* of a cache: a node fills one */

_Static_assert(sizeof(pd_flag) == LINE || sizeof(void *) != 8, "a node fills a line");

/* From the top: the first bits of the name's hash, its length, the node's index + 1; 0:
 * free. Names of one hash and another length need no look at the node. */
typedef uint64_t slot;
#define NODE_BITS 28
#define LENGTH_BITS 8
_Static_assert(PD__NODES_MOST == (1u << NODE_BITS) - 1 && PD_NAME_MAX < 1u << LENGTH_BITS,
               "a slot holds every index, and the length of every name");

static struct {
  slot *slots;
  uint32_t capacity; /* 0 or a power of two */
  uint32_t shift;    /* of a slot: leaves so many bits that it is an index of the slots */
  char **chunks;     /* of malloc: in each, nodes begin with the next line */
  uint32_t chunk_room;
  uint32_t count;
  uint32_t first_listed; /* index + 1; 0: none */
  pd_flag *last_listed;
} names;

static char fold(char c) { return c == '-' ? '_' : c; }

PD__ASIDE bool same_folded(const char *stored, const char *name, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (fold(stored[i]) != fold(name[i])) return false;
  }
  return true;
}

static inline bool same_name(const char *stored, const char *name, size_t length) {
  return pd__hash_same(stored, name, length) || same_folded(stored, name, length);
}

/* ---- Eight bytes at a time: a high bit set in each byte, or not ---- */

#define EACH(byte) (0x0101010101010101u * (byte))
#define HIGH EACH(0x80u)

/* Which bytes, all below 128, lie between two. */
static uint64_t between(uint64_t word, unsigned low, unsigned high) {
  return (word + EACH(0x80u - low)) & ~(word + EACH(0x7fu - high)) & HIGH;
}

/* Whether all bytes may stand in a name: letters, digits, _ . - */
static bool is_inner(uint64_t word) {
  uint64_t letters = between((word & ~HIGH) | EACH(0x20u), 'a', 'z');
  uint64_t others = between(word & ~HIGH, '-', '.') | between(word & ~HIGH, '0', '9') |
                    between(word & ~HIGH, '_', '_');
  return ((letters | others) & ~word & HIGH) == HIGH;
}

bool pd__name_valid(const char *name, size_t length) {
  if (length == 0 || length > PD_NAME_MAX || (unsigned char)name[0] < 'A') return false;
  if (length < 8) { /* of fewer than 4 bytes, 3 are told */
    uint64_t rest = pd__hash_rest(name, length);
    return is_inner(length < 4 ? rest | EACH((uint64_t)'_') << 24 : rest);
  }
  const char *last = name + length - 8;
  for (; name < last; name += 8) {
    if (!is_inner(pd__hash_word(name))) return false;
  }
  return is_inner(pd__hash_word(last));
}

static inline pd_flag *node_at(uint32_t index) {
  uintptr_t first = ((uintptr_t)names.chunks[index / CHUNK] / LINE + 1) * LINE;
  return (pd_flag *)first + index % CHUNK;
}

pd_flag *pd__names_at(uint32_t index) { return index < names.count ? node_at(index) : NULL; }

/* ---- The table ---- */

/* All of a slot but its node. */
static inline slot key_of(const char *name, size_t length) {
  slot hash = pd__hash_text(name, length) >> (NODE_BITS + LENGTH_BITS);
  return (hash << LENGTH_BITS | length) << NODE_BITS;
}

static inline pd_flag *node_of(slot taken) {
  return node_at((uint32_t)(taken & PD__NODES_MOST) - 1);
}

/* The slot that holds the name, or the free one where it belongs; its node, or NULL. What a
 * caller will look at next is fetched while the names are compared. */
PD__INLINE slot *probe(const char *name, size_t length, slot key, pd_flag **node) {
  uint32_t last = names.capacity - 1;
  for (uint32_t at = (uint32_t)(key >> names.shift);; at = (at + 1) & last) {
    slot *candidate = &names.slots[at];
    *node = NULL;
    if (!*candidate) return candidate;
    if ((*candidate ^ key) >> NODE_BITS) continue;
    *node = node_of(*candidate);
    __builtin_prefetch((*node)->variable);
    if (same_name((*node)->name, name, length)) return candidate;
  }
}

/* Names are filed as if each `-` in them were a `_`. Few have one: they are looked for
 * once more. */
static bool fold_name(const char *name, size_t length, char out[PD_NAME_MAX + 1]) {
  if (!memchr(name, '-', length)) return false;
  for (size_t i = 0; i < length; i++) out[i] = fold(name[i]);
  return true;
}

PD__ASIDE pd_flag *find_folded(const char *name, size_t length) {
  char folded[PD_NAME_MAX + 1];
  pd_flag *node = NULL;
  if (fold_name(name, length, folded)) probe(folded, length, key_of(folded, length), &node);
  return node;
}

pd_flag *pd__names_find(const char *name, size_t length) {
  pd_flag *node;
  if (!names.capacity || length > PD_NAME_MAX) return NULL;
  probe(name, length, key_of(name, length), &node);
  return node ? node : find_folded(name, length);
}

/* Seven eighths full: most names are found in the first line that is looked at. */
static bool is_full(uint64_t capacity, uint64_t count) { return 8 * count > 7 * capacity; }

bool pd__names_reserve(size_t count) {
  uint32_t capacity = names.capacity ? names.capacity : 64;
  if (count > PD__NODES_MOST - names.count) return false;
  while (is_full(capacity, names.count + (uint64_t)count)) capacity *= 2;
  if (capacity == names.capacity) return true;
  slot *slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  uint32_t shift = 64 - (uint32_t)__builtin_ctz(capacity);
  for (uint32_t i = 0; i < names.capacity; i++) {
    if (!names.slots[i]) continue;
    uint32_t at = (uint32_t)(names.slots[i] >> shift);
    while (slots[at]) at = (at + 1) & (capacity - 1);
    slots[at] = names.slots[i];
  }
  free(names.slots);
  names.slots = slots;
  names.capacity = capacity;
  names.shift = shift;
  return true;
}

/* ---- Nodes ---- */

static bool new_chunk(void) {
  uint32_t chunk = names.count / CHUNK;
  if (names.count > PD__NODES_MOST - CHUNK) return false;
  if (chunk == names.chunk_room) {
    uint32_t room = names.chunk_room ? 2 * names.chunk_room : 16;
    char **chunks = realloc(names.chunks, room * sizeof *chunks);
    if (!chunks) return false;
    names.chunks = chunks;
    names.chunk_room = room;
  }
  char *fresh = calloc(CHUNK * sizeof(pd_flag) + LINE, 1);
  if (!fresh) return false;
  names.chunks[chunk] = fresh;
  return true;
}

static pd_flag *add(const char *name, size_t length, bool borrow) {
  if (is_full(names.capacity, names.count + 1ull) && !pd__names_reserve(1)) return NULL;
  char folded[PD_NAME_MAX + 1];
  const char *filed = fold_name(name, length, folded) ? folded : name;
  slot key = key_of(filed, length);
  pd_flag *node;
  slot *found = probe(filed, length, key, &node);
  if (node) return node;
  const char *own = borrow ? name : pd__names_stored(name, length);
  if (!own) return NULL;
  if (names.count % CHUNK == 0 && !new_chunk()) return NULL;
  uint32_t index = names.count++;
  node = node_at(index);
  node->index = index;
  node->name = own;
  node->not_plain = true;
  *found = key | (index + 1);
  return node;
}

pd_flag *pd__names_add(const char *name, size_t length) { return add(name, length, false); }
pd_flag *pd__names_borrow(const char *name, size_t length) { return add(name, length, true); }

/* ---- What they are called ---- */

const char *pd__names_stored(const char *name, size_t length) {
  char text[PD_NAME_MAX + 1];
  memcpy(text, name, length);
  text[length] = '\0';
  return pd__intern(text);
}

void pd__names_own(pd_flag *node, const char *stored) {
  static char lost[PD_NAME_MAX + 1]; /* as long as its slot may say, and never written */
  node->name = stored ? stored : lost;
}

const pd__extra pd__no_extra = {.cells = NULL};

pd__extra *pd__flag_make_extra(pd_flag *node) {
  if (node->has_extra) return node->more.extra;
  pd__extra *made = pd__entries_open(node) ? pd__forever(sizeof *made) : NULL;
  if (!made) return NULL;
  *made = (pd__extra){.cells = node->more.cells};
  node->more.extra = made;
  node->has_extra = true;
  return made;
}

pd_flag *pd__flag_meant(pd_flag *node) {
  pd_flag *flag = pd__flag_extra(node)->alias_of;
  return flag ? flag : node;
}

pd_flag *pd__names_resolve(const char *name, size_t length) {
  pd_flag *node = pd__names_find(name, length);
  if (!node || node->defined) return node;
  pd_flag *flag = pd__flag_meant(node);
  if (!flag->defined) return NULL;
  if (node->old_name) pd__warn_of_name(node, flag);
  return node;
}

/* ---- The order of definition ---- */

void pd__names_list(pd_flag *flag) {
  if (flag->following || flag == names.last_listed) return;
  *(names.last_listed ? &names.last_listed->following : &names.first_listed) = flag->index + 1;
  names.last_listed = flag;
}

pd_flag *pd__names_listed(const pd_flag *previous) {
  uint32_t next = previous ? previous->following : names.first_listed;
  return next ? pd__names_at(next - 1) : NULL;
}
