/* The images that the registry knows: modules that have joined, and images that have registered
 * something. */
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/numbered.h"
#include "../base/table.h"
#include "../base/text.h"
#include "image.h"
#include "loader.h"
#include "names.h"

/* A module that leaves keeps its node, because there may be handles to it. The next module from the
 * same path reuses the node. */
static pd__numbered modules;
const void *const pd__modules_place = &modules;

static pd__table by_path; /* of interned paths: those of one path are few */

/* The modules where images are or were, by their addresses, none of which overlap. */
static struct {
  pd__arena arena;
  pd_module **items;
  size_t count, capacity;
} placed;

/* Modules are never removed, so row and number correspond. */
static pd_module *get_module_by_number(uint32_t number) { return modules.rows[number - 1].item; }

pd_module *pd__module_next(const pd_module *previous) {
  uint32_t next = previous ? previous->number + 1 : 1;
  return next <= modules.count ? get_module_by_number(next) : NULL;
}

pd_module *pd__cell_module(const pd__cell *cell) {
  return cell->module ? get_module_by_number(cell->module) : NULL;
}

void pd__cell_set_module(pd__cell *cell, const pd_module *module) {
  cell->module = module ? module->number : 0;
}

/* ---- What is known of one ---- */

const char *pd__module_path(const pd_module *module) { return module->path; }

uintptr_t pd__module_get_end_address(const pd_module *module) { return module->high; }

bool pd__module_has_address(const pd_module *module, uintptr_t address) {
  return address >= module->low && address < module->high;
}

bool pd__module_has_same_range(const pd_module *module, const pd__platform_image *image) {
  return module->low == image->low && module->high == image->high;
}

bool pd__module_is_never_unloaded(const pd_module *module) { return module->stays; }

bool pd__module_is_present(const pd_module *module) { return module->present; }

void pd__module_set_present(pd_module *module, bool present) { module->present = present; }

void pd__module_mark_has_record(pd_module *module) { module->has_record = true; }

struct pd__membership *pd__module_get_membership(const pd_module *module) {
  return module->membership;
}

void pd__module_set_membership(pd_module *module, struct pd__membership *membership) {
  module->membership = membership;
}

/* ---- Where images are ---- */

/* Returns the index of the first one that ends above the address. */
static size_t find_first_ending_above(uintptr_t address) {
  size_t low = 0, high = placed.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (placed.items[middle]->high <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

pd_module *pd__module_find_at(const void *address) {
  size_t at = find_first_ending_above((uintptr_t)address);
  pd_module *module = at < placed.count ? placed.items[at] : NULL;
  bool here = module && module->present && pd__module_has_address(module, (uintptr_t)address);
  return here ? module : NULL;
}

/* Replaces `count` of them, at that index, by `fresh` or, if that is NULL, by none. */
static void replace_placed_range(size_t at, size_t count, pd_module *fresh) {
  pd_module **from = placed.items + at;
  size_t added = fresh ? 1 : 0, behind = placed.count - at - count;
  memmove(from + added, from + count, behind * sizeof *from);
  if (fresh) *from = fresh;
  placed.count += added - count;
}

/* An image that was at these addresses and has no record has left without notice. */
static void insert_module_by_address(pd_module *module, const pd__platform_image *image) {
  size_t at = find_first_ending_above(module->low), count = 0;
  if (at < placed.count && placed.items[at] == module) replace_placed_range(at, 1, NULL);
  module->low = image->low;
  module->high = image->high;
  for (at = find_first_ending_above(image->low); at + count < placed.count; count++) {
    pd_module *old = placed.items[at + count];
    if (old->low >= image->high) break;
    if (!old->has_record) old->present = false;
  }
  replace_placed_range(at, count, module);
}

static bool reserve_placed_slot(void) {
  pd_module **items = pd__arena_grow_if_full(&placed.arena, placed.items, placed.count,
                                             &placed.capacity, sizeof(pd_module *));
  if (items) placed.items = items;
  return items != NULL;
}

/* ---- Adding and leaving ---- */

void pd__module_mark_gone(pd_module *module) {
  static uint32_t generations;
  module->present = false;
  module->has_record = false;
  module->generation = ++generations;
  module->opened = module->pinned = module->closing = 0;
  module->handle = NULL;
}

static bool is_reusable_module(uint32_t number, const void *path) {
  const pd_module *module = get_module_by_number(number);
  return module->path == path && !module->present;
}

static pd_module *add_module(const char *path, uint32_t hash) {
  pd_module *module = pd__table_reserve(&by_path, 1) ? pd__alloc_forever(sizeof *module) : NULL;
  uint64_t number = module ? pd__numbered_add(&modules, module) : 0;
  if (number == 0) return NULL;
  *module = (pd_module){.path = path, .number = number & INT32_MAX};
  pd__table_add(&by_path, hash, (uint32_t)number);
  return module;
}

pd_module *pd__module_add(const pd__platform_image *image) {
  const char *path = pd__intern_text(image->path);
  if (!path || !reserve_placed_slot()) return NULL;
  uint32_t hash = pd__hash_text(path, strlen(path));
  uint32_t number = pd__table_find(&by_path, hash, is_reusable_module, path);
  pd_module *module = number ? get_module_by_number(number) : add_module(path, hash);
  if (!module) return NULL;
  pd__module_mark_gone(module);
  module->permanent &= module->low == image->low; /* it was withdrawn, and never left */
  insert_module_by_address(module, image);
  module->present = true;
  module->stays = image->stays;
  module->registrations = 0;
  module->reference = NULL;
  return module;
}

/* ---- Lookup by address ---- */

pd_module *pd__module_find_or_add(const void *address) {
  pd__platform_lock();
  pd_module *module = pd__module_find_at(address);
  pd__platform_unlock();
  if (module) return module;
  pd__platform_image *image = pd__platform_find_image(PD__RECORDS_OF_MODULES, address);
  bool has_record = image != NULL;
  if (!image) image = pd__platform_find_image(PD__NO_RECORDS, address);
  if (!image) return NULL;
  pd__platform_lock();
  module = pd__module_find_at(address);
  if (!module && (module = pd__module_add(image))) module->has_record = has_record;
  pd__platform_unlock();
  free(image);
  return module;
}

pd_module *pd__module_add_registration(uintptr_t address) {
  pd_module *module = address ? pd__module_find_or_add((const void *)address) : NULL;
  if (!module || module->stays || module->has_record) return module;
  void *reference = pd__platform_retain_image(module->path, module->low, module->high);
  pd__platform_lock();
  module->registrations++;
  if (!module->reference) {
    module->reference = reference;
    reference = NULL;
  }
  pd__platform_unlock();
  if (reference) pd__loader_close_library(reference);
  return module;
}
