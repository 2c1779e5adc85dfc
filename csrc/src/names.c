/* The table of names: open addressing with linear probing over nodes that
 * never move. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

#define CHUNK 64 /* nodes allocated at a time */

typedef struct slot {
  uint32_t hash;
  uint32_t node; /* index + 1; 0: free */
} slot;

static struct {
  slot *slots;
  uint32_t capacity; /* 0 or a power of two */
  pd_flag **chunks;
  uint32_t chunk_room;
  uint32_t count;
  pd_flag *first_listed;
  pd_flag *last_listed;
} names;

static char fold(char c) { return c == '-' ? '_' : c; }

static uint32_t hash_name(const char *name, size_t length) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)fold(name[i])) * 16777619u;
  return hash ^ hash >> 15;
}

static bool same_name(const char *stored, const char *name, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (fold(stored[i]) != fold(name[i])) return false;
  }
  return stored[length] == '\0';
}

bool pd__name_valid(const char *name) {
  size_t length = 0;
  for (; name[length]; length++) {
    char c = name[length];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool inner = (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!letter && (length == 0 || !inner)) return false;
    if (length >= PD_NAME_MAX) return false;
  }
  return length > 0;
}

pd_flag *pd__names_at(uint32_t index) {
  return index < names.count ? &names.chunks[index / CHUNK][index % CHUNK] : NULL;
}

/* The slot that holds the name, or the free one where it belongs. */
static slot *probe(const char *name, size_t length, uint32_t hash) {
  uint32_t at = hash & (names.capacity - 1);
  for (;; at = (at + 1) & (names.capacity - 1)) {
    slot *candidate = &names.slots[at];
    if (!candidate->node) return candidate;
    if (candidate->hash == hash &&
        same_name(pd__names_at(candidate->node - 1)->name, name, length)) {
      return candidate;
    }
  }
}

pd_flag *pd__names_find(const char *name, size_t length) {
  if (!names.capacity) return NULL;
  slot *found = probe(name, length, hash_name(name, length));
  return found->node ? pd__names_at(found->node - 1) : NULL;
}

static bool grow_slots(void) {
  uint32_t capacity = names.capacity ? 2 * names.capacity : 64;
  slot *slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  for (uint32_t i = 0; i < names.capacity; i++) {
    if (!names.slots[i].node) continue;
    uint32_t at = names.slots[i].hash & (capacity - 1);
    while (slots[at].node) at = (at + 1) & (capacity - 1);
    slots[at] = names.slots[i];
  }
  free(names.slots);
  names.slots = slots;
  names.capacity = capacity;
  return true;
}

static pd_flag *new_node(void) {
  uint32_t chunk = names.count / CHUNK;
  if (names.count % CHUNK == 0) {
    if (chunk == names.chunk_room) {
      uint32_t room = names.chunk_room ? 2 * names.chunk_room : 16;
      pd_flag **chunks = realloc(names.chunks, room * sizeof *chunks);
      if (!chunks) return NULL;
      names.chunks = chunks;
      names.chunk_room = room;
    }
    names.chunks[chunk] = calloc(CHUNK, sizeof **names.chunks);
    if (!names.chunks[chunk]) return NULL;
  }
  pd_flag *node = &names.chunks[chunk][names.count % CHUNK];
  node->index = names.count++;
  return node;
}

const char *pd__names_stored(const char *name, size_t length) {
  char text[PD_NAME_MAX + 1];
  memcpy(text, name, length);
  text[length] = '\0';
  return pd__intern(text);
}

pd_flag *pd__names_add(const char *name, size_t length) {
  if (4 * (uint64_t)names.count >= 3 * (uint64_t)names.capacity && !grow_slots()) return NULL;
  uint32_t hash = hash_name(name, length);
  slot *found = probe(name, length, hash);
  if (found->node) return pd__names_at(found->node - 1);
  const char *stored = pd__names_stored(name, length);
  pd_flag *node = stored ? new_node() : NULL;
  if (!node) return NULL;
  node->name = stored;
  *found = (slot){hash, node->index + 1};
  return node;
}

pd_flag *pd__names_resolve(const char *name, size_t length) {
  pd_flag *node = pd__names_find(name, length);
  pd_flag *flag = node && node->alias_of ? node->alias_of : node;
  if (!flag || !flag->def) return NULL;
  if (flag != node && node->old_name) pd__warn_of_name(node, flag);
  return flag;
}

void pd__names_list(pd_flag *flag) {
  if (flag->listed) return;
  flag->listed = true;
  if (names.last_listed) {
    names.last_listed->following = flag;
  } else {
    names.first_listed = flag;
  }
  names.last_listed = flag;
}

pd_flag *pd__names_listed(const pd_flag *previous) {
  return previous ? previous->following : names.first_listed;
}
