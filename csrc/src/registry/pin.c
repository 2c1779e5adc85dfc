/* Pins keep images loaded while their code is called. A module opened by pd_module_load is pinned
 * by a count, and closed by the last operation that unpins it. For other images the loader gives a
 * reference. */
#include "pin.h"

#include "image.h"
#include "loader.h"

/* A pin of an operation. */
struct pd__pin {
  pd_module *module;
  uint32_t generation; /* of the module */
  const char *path;
  uintptr_t low, high;
  enum { WANTED, COUNTED, HELD, REFUSED } state;
  void *handle; /* a reference of the loader, if HELD */
  pd__pin *next;
};

/* A reference of the loader, closed when the operation ends. */
struct pd__closing {
  void *handle;
  pd_module *module; /* whose handle it is; NULL: another reference */
  pd__closing *next;
};

void (*pd__module_closed)(pd_module *module);

static pd__pin *add_wanted_pin(pd__operation *operation, pd_module *module) {
  pd__pin *pin = pd__arena_alloc(&operation->arena, sizeof *pin);
  if (!pin) return NULL;
  *pin = (pd__pin){module, module->generation, module->path, module->low, module->high, WANTED,
                   NULL,   operation->pins};
  operation->pins = pin;
  pd__operation_mark_active(operation);
  return pin;
}

pd__pinning pd__pin_module(pd__operation *operation, pd_module *module) {
  if (!module || module->stays) return PD__PINNED;
  pd__pin *pin = operation->pins;
  while (pin && (pin->module != module || pin->generation != module->generation)) pin = pin->next;
  if (!pin && !module->present) return PD__LEAVING;
  if (!pin && !(pin = add_wanted_pin(operation, module))) return PD__LEAVING;
  if (pin->state == WANTED && pd__module_is_retained(module)) {
    pin->state = COUNTED;
    module->pinned++;
  }
  if (pin->state == REFUSED) return PD__LEAVING;
  return pin->state == WANTED ? PD__UNPINNED : PD__PINNED;
}

void pd__pins_acquire(pd__operation *operation) {
  pd__operation_unlock(operation);
  for (pd__pin *pin = operation->pins; pin; pin = pin->next) {
    if (pin->state != WANTED) continue;
    pin->handle = pd__platform_retain_image(pin->path, pin->low, pin->high);
    pin->state = pin->handle ? HELD : REFUSED;
  }
  pd__operation_lock(operation);
}

/* ---- Unpinning ---- */

/* If memory is out, the reference leaks and the image stays loaded. */
static void queue_handle_close(pd__operation *operation, void *handle, pd_module *module) {
  pd__closing *closing = pd__arena_alloc(&operation->arena, sizeof *closing);
  if (!closing) return;
  *closing = (pd__closing){handle, module, operation->closing};
  operation->closing = closing;
  if (module) module->closers++;
}

static void queue_module_close(pd__operation *operation, pd_module *module) {
  for (; module->closing > 0; module->closing--)
    queue_handle_close(operation, module->handle, module);
}

/* Returns whether the pin is one of those that module->pinned counts. */
static bool is_pin_counted(const pd__pin *pin) {
  return pin->state == COUNTED && pin->generation == pin->module->generation;
}

static void unpin_module(pd__operation *operation, pd_module *module) {
  if (module->pinned > 0 && --module->pinned == 0) queue_module_close(operation, module);
}

void pd__pins_release(pd__operation *operation) {
  bool lost = pd__operation_is_lost(operation);
  for (; operation->pins; operation->pins = operation->pins->next) {
    pd__pin *pin = operation->pins;
    if (pin->state == HELD) queue_handle_close(operation, pin->handle, NULL);
    if (!lost && is_pin_counted(pin)) unpin_module(operation, pin->module);
  }
  if (operation->active) operation->active->pins = NULL;
}

void pd__close_queued_handles(pd__operation *operation) {
  for (; operation->closing; operation->closing = operation->closing->next) {
    pd_module *module = operation->closing->module;
    pd__loader_close_library(operation->closing->handle);
    if (module) pd__module_closed(module);
  }
}

void pd__pins_reset_in_child(void) {
  for (pd_module *module = NULL; (module = pd__module_next(module));) module->pinned = 0;
  for (const pd__active_operation *each = NULL; (each = pd__active_operation_next(each));) {
    for (const pd__pin *pin = each->pins; pin; pin = pin->next)
      pin->module->pinned += is_pin_counted(pin);
  }
}

/* ---- Openings ---- */

void pd__module_begin_load(pd_module *module, void *handle) {
  module->handle = handle;
  module->loads_under_way++;
}

void pd__module_turn_load_into_opening(pd_module *module) {
  module->loads_under_way--;
  module->opened++;
}

bool pd__module_has_opening(const pd_module *module) { return module->opened > 0; }

bool pd__module_is_retained(const pd_module *module) {
  return module->loads_under_way > 0 || module->opened > 0;
}

void pd__module_end_opening(pd__operation *operation, pd_module *module) {
  module->opened--;
  module->closing++;
  if (module->pinned == 0) queue_module_close(operation, module);
}

void *pd__module_cancel_load(pd_module *module) {
  bool pinned = module->pinned > 0;
  module->loads_under_way--;
  ++*(pinned ? &module->closing : &module->closers);
  return pinned ? NULL : module->handle;
}

bool pd__module_end_closing(pd_module *module) {
  module->closers--;
  return !pd__module_is_retained(module) && module->permanent;
}

/* ---- Keeping ---- */

bool pd__module_is_permanent(const pd_module *module) { return module->stays || module->permanent; }

/* Returns whether the module stays. The lock was released since it had `generation`, and `held` was
 * whether pd_module_load had opened it. If the last handle was closed meanwhile, nobody would
 * withdraw it later. */
static bool mark_permanent_if_unchanged(pd_module *module, uint32_t generation, bool held) {
  bool closes = module->closing > 0 || module->closers > 0;
  bool closed = held && !pd__module_is_retained(module) && !closes;
  if (module->generation != generation || closed) return false;
  module->permanent = true;
  return true;
}

/* The reference is never given back if the module stays. */
bool pd__module_make_permanent(pd__operation *operation, pd_module *module) {
  uint32_t generation = module->generation;
  bool held = pd__module_is_retained(module);
  const char *path = module->path;
  uintptr_t low = module->low, high = module->high;
  pd__operation_unlock(operation);
  void *reference = pd__platform_retain_image(path, low, high);
  pd__operation_lock(operation);
  if (reference && mark_permanent_if_unchanged(module, generation, held)) return true;
  if (!reference) return false;
  pd__operation_unlock(operation);
  pd__loader_close_library(reference);
  pd__operation_lock(operation);
  return false;
}

void pd__module_remove_registration(pd__operation *operation, pd_module *module) {
  if (!module || module->registrations == 0 || --module->registrations > 0) return;
  if (module->reference) queue_handle_close(operation, module->reference, NULL);
  module->reference = NULL;
}
