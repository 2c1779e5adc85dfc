/* How the records of modules join the registry and leave it. */
#include <stdlib.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "../registry/loader.h"
#include "module.h"

static const pd_host *own_host;
_Thread_local pd__loading *pd__loading_now;

void pd__members_begin(const pd_host *host) { own_host = host; }

/* ---- Membership ---- */

/* Returns the module of an image that registered something before its record joined, or that was
 * loaded without a record. */
static pd_module *find_waiting(const pd__platform_image *image) {
  for (pd_module *each = NULL; (each = pd__module_next(each));) {
    bool here = each->present && each->low == image->low && each->high == image->high;
    if (here && !(each->membership && each->membership->record)) return each;
  }
  return NULL;
}

static void forget_errors(pd__membership *member) {
  pd__do_error_list_free(member->errors);
  pd__do_error_list_free(member->refused);
  member->errors = member->refused = NULL;
}

pd_module *pd__member_add(const pd__platform_image *image) {
  pd_module *module = find_waiting(image);
  if (!module) module = pd__module_add(image);
  if (!module) return NULL;
  if (module->membership) forget_errors(module->membership);
  if (!module->membership) module->membership = pd__forever(sizeof *module->membership);
  if (!module->membership) return NULL;
  *module->membership = (pd__membership){.errors = NULL};
  module->name_space = "";
  return module;
}

void pd__member_undefine(pd__operation *operation, pd_module *module) {
  for (pd__defs *defs = module->membership->defs; defs; defs = defs->more) {
    pd__undefine(operation, defs->cells, defs->count);
    pd__impls_unlink(defs->impls, defs->impls_count);
  }
  pd__defs_drop(&module->membership->defs);
}

void pd__member_leave(pd__operation *operation, pd_module *module) {
  pd__registered_leave(operation, module);
  pd__impls_leave(operation, module);
  pd__hooks_leave(operation, module);
}

/* ---- Joining ---- */

static pd_status check_abi(const pd_module_record *record, const char *path, pd_error *err) {
  if (record->abi != PD_ABI_VERSION) {
    return pd__fail(err, PD_ERR_ABI, "%.400s: built for ABI version %u, expected %d", path,
                    record->abi, PD_ABI_VERSION);
  }
  if (record->size >= PD__SMALLEST_RECORD) return PD_OK;
  return pd__fail(err, PD_ERR_ABI, "%.400s: its module record has %u bytes, expected %zu or more",
                  path, record->size, PD__SMALLEST_RECORD);
}

/* Defines the definitions of the record (NULL for none) and the late ones, all or nothing, and
 * writes the result to the late ones. They are marked as seen and linked before they are defined,
 * because another thread may get here while validators run. */
static bool define(pd__operation *operation, pd_module *module, const pd_module_record *record,
                   pd__lates lates, pd__report *refused) {
  pd__membership *member = module->membership;
  pd__report waiting = {.list = member->errors};
  pd__defs *defs = pd__defs_read(record, lates, module, refused), **end = &member->defs;
  while (*end) end = &(*end)->more;
  *end = defs;
  bool defined = refused->status == PD_OK;
  if (defined) pd__lates_settle(lates, defs, NULL);
  if (defined) defined = pd__impls_link(defs->impls, defs->impls_count, refused);
  bool both = defined && defs->impls_count > 0;
  if (both) defined = pd__impls_check_names(defs->cells, defs->count, refused);
  if (defined) defined = pd__define_check(operation, defs->cells, defs->count, refused);
  if (defined) pd__define_take(operation, defs->cells, defs->count, &waiting);
  if (!defined && defs) pd__impls_unlink(defs->impls, defs->impls_count);
  pd__impls_settle(operation, &waiting);
  if (defined && !pd__impls_have_flags(defs->impls, defs->impls_count, refused)) {
    pd__undefine(operation, defs->cells, defs->count);
    pd__impls_unlink(defs->impls, defs->impls_count);
    pd__impls_settle(operation, &waiting);
    defined = false;
  }
  pd__lates_settle(lates, defs, defined ? NULL : refused->first);
  if (!defined) pd__defs_drop(end);
  return defined;
}

/* Keeps the errors from the one at `first` on for pd_modules_check, as nobody else returns them,
 * and warns of the first refusal in a module. */
static void note_refusal(const pd_module *module, size_t first) {
  pd__membership *member = module->membership;
  const pd_error *why = pd__do_error_list_at(member->errors, first), *each = why;
  bool again = member->refused != NULL;
  if (!again) member->refused = pd__do_error_list_new();
  pd__report kept = {.list = member->refused};
  while (each) {
    pd__report_add(&kept, each);
    each = pd__do_error_list_at(member->errors, ++first);
  }
  if (again || !why) return;
  pd__fail(pd__warning_add(PD_WARNING_REFUSED), PD_OK,
           "%s: %s refused, and its own code sees only %s: %s", pd__tail(module->path, 160),
           member->status == PD_OK ? "a flag was" : "was",
           member->status == PD_OK ? "the default" : "defaults", why->message);
}

/* Defines what was added since the module joined. During the pd_module_load in which the module
 * joined, a refusal undefines the whole module; later, only the new definitions are refused. */
static void join_late(pd__operation *operation, pd_module *module, const pd__loading *load) {
  pd__membership *member = module->membership;
  pd_error err = {.status = member->status, .message = "its module was refused"};
  pd__lates lates = pd__lates_of(member->record, module->high, false);
  pd__report refused = {.list = member->errors, .first = &err};
  size_t before = pd__do_error_list_count(member->errors);
  if (lates.first == lates.end) return;
  if (member->status != PD_OK) {
    pd__lates_settle(lates, NULL, &err);
    return;
  }
  if (define(operation, module, NULL, lates, &refused)) return;
  if (!load || member->joined_in != load) {
    note_refusal(module, before);
    return;
  }
  pd__member_undefine(operation, module);
  member->status = refused.status;
}

/* Called before the late definitions are read: one that is added afterwards sees the host and joins
 * by itself. */
static void announce(pd_module *module, pd_module_record *record) {
  __atomic_store_n(&record->host, own_host, __ATOMIC_SEQ_CST);
  __atomic_store_n(&record->state, module, __ATOMIC_RELEASE);
  module->membership->record = record;
  module->has_record = true;
}

/* Never writes to a record of another ABI. A module that was refused may try again when it is
 * loaded again: the reason may be gone. */
void pd__member_join(pd__operation *operation, pd_module_record *record,
                     const pd__platform_image *image, pd__loading *load) {
  pd_error err, first;
  const char *path = image ? image->path : ((const pd_module *)record->state)->path;
  pd_status status = check_abi(record, path, &err);
  pd_module *module = status == PD_OK ? record->state : NULL;
  if (module && (module->membership->status == PD_OK || !load)) {
    join_late(operation, module, load);
    return;
  }
  if (!module) module = pd__member_add(image);
  if (!module) {
    if (load) load->lost = true;
    return;
  }
  pd__membership *member = module->membership;
  member->joined_in = load;
  member->withdrawn_with = NULL;
  bool asked_for = load && pd__platform_is_path(load->path, path);
  module->name_space = asked_for ? load->name_space : "";
  forget_errors(member);
  member->errors = pd__do_error_list_new();
  pd__report refused = {.list = member->errors, .first = &first};
  if (status == PD_OK) {
    announce(module, record);
    define(operation, module, record, pd__lates_of(record, module->high, true), &refused);
  } else {
    pd__report_add(&refused, &err);
  }
  member->status = refused.status;
  if (!load && refused.status != PD_OK) note_refusal(module, 0);
}

/* ---- The functions of pd_host ---- */

/* Returns false if `image` is NULL and the record isn't known. A known record joins only its late
 * definitions, and needs no image. */
static bool join(pd_module_record *record, const pd__platform_image *image) {
  PD__IN_LOADER(pd__loader_now.owner);
  PD__LOCKED_OPERATION(operation);
  bool known = image || record->state;
  if (known) pd__member_join(&operation, record, image, pd__loading_now);
  pd__operation_end(&operation);
  return known;
}

/* A module can't join because memory is out. The pd_module_load that is under way fails. */
static void lose(void) {
  if (pd__loading_now) pd__loading_now->lost = true;
}

static void note(const pd__platform_image *image, void *context) {
  pd__platform_image ***end = context, *copy = pd__platform_copy_image(image);
  if (!copy) {
    lose();
    return;
  }
  **end = copy;
  *end = &copy->next;
}

void pd__module_join(pd_module_record *record) {
  pd_error err;
  if (check_abi(record, "", &err) == PD_OK && join(record, NULL)) return;
  pd__platform_image *image = pd__platform_image_at(PD__NO_RECORDS, record);
  if (!image || !join(record, image)) lose();
  free(image);
}

/* Collects the images first, because no lock may be taken during a walk. No image leaves between
 * the walk and the joining: this thread has a handle, or runs a constructor and has the loader's
 * lock. Don't hold a reference of the loader instead: at the start of a program, taking one would
 * run constructors. */
void pd__members_visit(const void *inside) {
  pd__platform_image *first = NULL, **end = &first;
  pd__platform_visit(PD__RECORDS_OF_MODULES, inside, note, &end);
  while (first) {
    pd__platform_image *each = first;
    first = each->next;
    join(each->record, each);
    free(each);
  }
}

void pd__member_withdraw(pd__operation *operation, pd_module *module) {
  pd_module_record *record = module->membership->record;
  pd__report waiting = {.list = NULL};
  pd__member_undefine(operation, module);
  pd__member_leave(operation, module);
  module->membership->record = NULL;
  pd__module_gone(module);
  __atomic_store_n(&record->state, NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&record->host, NULL, __ATOMIC_RELEASE);
  pd__impls_settle(operation, &waiting);
}

/* Doesn't wait for calls into the module: none is running, as it would keep the module loaded. */
void pd__module_leave(pd_module_record *record) {
  PD__IN_LOADER(pd__loader_now.owner);
  PD__LOCKED_OPERATION(operation);
  const pd_module *module = record->state;
  if (module && module->membership->record == record) {
    pd__member_withdraw(&operation, record->state);
  } else {
    __atomic_store_n(&record->state, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&record->host, NULL, __ATOMIC_RELEASE);
  }
  pd__operation_end(&operation);
}
