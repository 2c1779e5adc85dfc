/* The images that the registry knows: modules that have joined, and images that have registered
 * something. */
#include <stdlib.h>

#include "../base/numbered.h"
#include "../base/text.h"
#include "loader.h"
#include "names.h"

/* A module that leaves keeps its node, because there may be handles to it. The next module from the
 * same path reuses the node. */
static pd__numbered modules;
const void *const pd__modules_place = &modules;

pd_module *pd__module_next(const pd_module *previous) {
  return pd__numbered_after(&modules, previous ? previous->number : 0);
}

/* Modules are never removed, so row and number correspond. */
pd_module *pd__cell_module(const pd__cell *cell) {
  return cell->module ? modules.rows[cell->module - 1].item : NULL;
}

pd_module *pd__module_at(const void *address) {
  pd_module *module = pd__module_next(NULL);
  while (module && !(module->present && pd__module_has(module, (uintptr_t)address))) {
    module = pd__module_next(module);
  }
  return module;
}

void pd__module_gone(pd_module *module) {
  static uint32_t generations;
  module->present = false;
  module->has_record = false;
  module->generation = ++generations;
  module->opened = module->pinned = module->closing = 0;
  module->handle = NULL;
}

pd_module *pd__module_add(const pd__platform_image *image) {
  const char *path = pd__intern(image->path);
  if (!path) return NULL;
  /* An image that was at these addresses and has no record has left without notice. */
  for (pd_module *old = NULL; (old = pd__module_next(old));) {
    bool overlaps = old->low < image->high && image->low < old->high;
    if (overlaps && !old->has_record) old->present = false;
  }
  pd_module *module = pd__module_next(NULL);
  while (module && (module->path != path || module->present)) module = pd__module_next(module);
  if (!module) {
    module = pd__forever(sizeof *module);
    uint64_t number = module ? pd__numbered_add(&modules, module) : 0;
    if (number == 0) return NULL;
    *module = (pd_module){.path = path, .number = number & INT32_MAX, .name_space = ""};
  }
  pd__module_gone(module);
  module->kept &= module->low == image->low; /* it was withdrawn, and never left */
  module->present = true;
  module->low = image->low;
  module->high = image->high;
  module->stays = image->stays;
  module->registrations = 0;
  module->reference = NULL;
  return module;
}

/* ---- Lookup by address ---- */

pd_module *pd__module_of(const void *address) {
  pd__platform_lock();
  pd_module *module = pd__module_at(address);
  pd__platform_unlock();
  if (module) return module;
  pd__platform_image *image = pd__platform_image_at(PD__RECORDS_OF_MODULES, address);
  bool has_record = image != NULL;
  if (!image) image = pd__platform_image_at(PD__NO_RECORDS, address);
  if (!image) return NULL;
  pd__platform_lock();
  module = pd__module_at(address);
  if (!module && (module = pd__module_add(image))) module->has_record = has_record;
  pd__platform_unlock();
  free(image);
  return module;
}

pd_module *pd__module_register(uintptr_t address) {
  pd_module *module = address ? pd__module_of((const void *)address) : NULL;
  if (!module || module->stays || module->has_record) return module;
  void *reference = pd__platform_hold(module->path, module->low, module->high);
  pd__platform_lock();
  module->registrations++;
  if (!module->reference) {
    module->reference = reference;
    reference = NULL;
  }
  pd__platform_unlock();
  if (reference) pd__loader_close(reference);
  return module;
}
