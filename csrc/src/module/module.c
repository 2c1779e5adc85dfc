/* Modules: how their records join the registry, and loading them by path. */
#include <stdlib.h>
#include <string.h>

#include "../registry/hooks.h"
#include "../definition/namespace.h"
#include "../platform/platform.h"
#include "record.h"
#include "../registry/registry.h"
#include "../base/sized.h"
#include "../base/text.h"

/* A pd_module_load under way. The modules that join on its thread belong to it:
 * the one it names and those that it depends on. */
typedef struct loading {
  uintptr_t thread;
  const char *path;
  const char *name_space; /* "" for none */
  bool lost;              /* a module joined that no memory was left for */
  struct loading *outer;
} loading;

/* Handles are for good: a module that leaves keeps its node, and the next one
 * from the same path takes it over. */
struct pd_module {
  const char *path;
  const char *name_space; /* "" for none; interned */
  pd_module *next;
  uint32_t number;          /* from 1 */
  pd_module_record *record; /* NULL: none, or gone */
  uintptr_t low, high;      /* the addresses of its image */
  bool present;
  bool stays;                      /* it is the program */
  pd__defs defs;                   /* of the record */
  pd_status status;                /* why it was refused */
  pd_error_list *errors;           /* of joining; may be NULL */
  const loading *joined_in;        /* the pd_module_load that is under way, or NULL */
  const pd_module *withdrawn_with; /* the refused one that had brought it, or NULL */
  void *handle;                    /* of the loader, when pd_module_load opened it */
  size_t opened;                   /* times */
};

/* Guarded by the lock. */
static pd_module *modules; /* in order of arrival */
static loading *loads;

const char *pd__module_path(const pd_module *module) { return module->path; }

pd_module *pd__cell_module(const pd__cell *cell) {
  pd_module *module = cell->module ? modules : NULL;
  while (module && module->number != cell->module) module = module->next;
  return module;
}

static pd_module *find_at(const void *inside) {
  uintptr_t address = (uintptr_t)inside;
  pd_module *module = modules;
  while (module && !(module->present && address >= module->low && address < module->high)) {
    module = module->next;
  }
  return module;
}

const char *pd__module_path_at(const void *inside) {
  const pd_module *module = find_at(inside);
  return module && module->record ? module->path : NULL;
}

/* The node for an image that arrives; NULL when memory is out. Whatever was at
 * its addresses before has left without a word, having no record. An image with
 * several records has a node for each. */
static pd_module *add_module(const pd__platform_image *image) {
  const char *path = pd__intern(image->path);
  pd_module **end = &modules;
  if (!path) return NULL;
  for (pd_module *old = modules; old; old = old->next) {
    bool overlaps = old->low < image->high && image->low < old->high;
    if (overlaps && !old->record) old->present = false;
  }
  uint32_t others = 0;
  for (pd_module *each = modules; each; each = each->next) others++;
  while (*end && ((*end)->path != path || (*end)->present)) end = &(*end)->next;
  pd_module *module = *end ? *end : pd__forever(sizeof *module);
  if (!module) return NULL;
  if (!*end) {
    *module = (pd_module){.path = path, .name_space = "", .number = others + 1};
    *end = module;
  }
  module->present = true;
  module->low = image->low;
  module->high = image->high;
  module->stays = image->stays;
  module->status = PD_OK;
  return module;
}

/* ---- Joining ---- */

static void undefine(pd_module *module) {
  pd__platform_image program = {.low = module->low, .high = module->high};
  for (const pd__defs *defs = &module->defs; defs; defs = defs->more) {
    pd__undefine(defs->cells, defs->count, module->stays ? &program : NULL);
  }
}

static loading *find_load(void) {
  loading *load = PD__LACKS_LOADS ? NULL : loads;
  while (load && load->thread != pd__platform_thread()) load = load->outer;
  return load;
}

static pd_status check_abi(const pd_module_record *record, const char *path, pd_error *err) {
  if (record->abi != PD_ABI_VERSION) {
    return pd__fail(err, PD_ERR_ABI, "%.400s: built for ABI version %u, expected %d", path,
                    record->abi, PD_ABI_VERSION);
  }
  if (record->size >= PD__SMALLEST_RECORD) return PD_OK;
  return pd__fail(err, PD_ERR_ABI, "%.400s: its module record has %u bytes, expected %zu or more",
                  path, record->size, PD__SMALLEST_RECORD);
}

/* Define what was read into `defs`, all or nothing, and tell the late ones. They are seen
 * before validators may let go of the lock: nobody else reads them then. */
static bool define(pd__defs *defs, pd__lates lates, bool sound, pd__report *refused,
                   pd__report *waiting) {
  pd__lates_settle(lates, defs, NULL);
  bool defined = sound && pd__define(defs->cells, defs->count, refused, waiting);
  pd__lates_settle(lates, defs, defined ? NULL : refused->first);
  return defined;
}

/* What came since the module joined. In pd_module_load it is a part of the module, which
 * joins whole or not at all; otherwise it is refused by itself. */
static void join_late(pd_module *module, const loading *load) {
  pd_error err = {.status = module->status, .message = "its module was refused"};
  pd__lates lates = pd__lates_of(module->record, module->high, false);
  pd__report refused = {.list = module->errors, .first = &err}, waiting = {.list = module->errors};
  if (lates.first == lates.end) return;
  pd__defs *last = &module->defs;
  while (last->more) last = last->more;
  pd__defs *more = module->status == PD_OK ? calloc(1, sizeof *more) : NULL;
  if (!more) {
    if (module->status == PD_OK) pd__fail_memory(&err);
    pd__lates_settle(lates, NULL, &err);
    return;
  }
  bool sound = pd__defs_read(more, NULL, lates, module->name_space, module->number, &refused);
  last->more = more; /* another thread may be here next, while validators run */
  if (define(more, lates, sound, &refused, &waiting)) return;
  last->more = NULL;
  pd__defs_drop(more);
  free(more);
  if (!load || module->joined_in != load) return;
  undefine(module);
  pd__defs_drop(&module->defs);
  module->status = refused.status;
}

/* With the lock. A record of another ABI isn't written to. A module that was
 * refused may try again when somebody asks for it: what hindered it may be gone. */
static void join(pd_module_record *record, const pd__platform_image *image) {
  pd_error err;
  pd_status status = check_abi(record, image->path, &err);
  loading *load = find_load();
  pd_module *module = status == PD_OK ? record->state : NULL;
  if (module && (module->status == PD_OK || !load)) {
    join_late(module, load);
    return;
  }
  if (!module) module = add_module(image);
  if (!module) {
    if (load) load->lost = true;
    return;
  }
  module->joined_in = load;
  module->withdrawn_with = NULL;
  module->name_space =
      load && pd__platform_is_path(load->path, image->path) ? load->name_space : "";
  pd__do_error_list_free(module->errors);
  module->errors = pd__do_error_list_new();
  pd_error first;
  pd__report refused = {.list = module->errors, .first = &first};
  pd__report waiting = {.list = module->errors};
  if (status != PD_OK) {
    pd__report_add(&refused, &err);
  } else {
    /* Before the late ones are read: who comes later sees the host, and asks again. */
    __atomic_store_n(&record->host, pd__own_host, __ATOMIC_SEQ_CST);
    __atomic_store_n(&record->state, module, __ATOMIC_RELEASE);
    module->record = record;
    pd__defs *defs = &module->defs;
    pd__lates lates = pd__lates_of(record, module->high, true);
    bool sound = pd__defs_read(defs, record, lates, module->name_space, module->number, &refused);
    if (!define(defs, lates, sound, &refused, &waiting)) pd__defs_drop(defs);
  }
  module->status = refused.status;
}

static void join_locked(void *record, const pd__platform_image *image, void *unused) {
  (void)unused;
  pd__platform_lock();
  join(record, image);
  pd__platform_unlock();
  pd__tell();
}

static void join_with_image(const pd__platform_image *image, void *record) {
  join_locked(record, image, NULL);
}

/* One that has joined before, with what came late, is known. */
static bool join_again(pd_module_record *record) {
  pd_error err;
  if (check_abi(record, "", &err) != PD_OK) return false;
  pd__platform_lock();
  const pd_module *module = record->state;
  if (module) {
    pd__platform_image image = {.path = module->path, .low = module->low, .high = module->high};
    join(record, &image);
  }
  pd__platform_unlock();
  if (module) pd__tell();
  return module != NULL;
}

void pd__module_join(pd_module_record *record) {
  if (!join_again(record)) pd__platform_with_image(record, join_with_image, record);
}

void pd__join_those_before(void) {
  pd__platform_visit(PD__RECORDS_OF_MODULES, NULL, join_locked, NULL);
}

void pd__module_leave(pd_module_record *record) {
  pd__platform_lock();
  pd_module *module = record->state;
  if (module && module->record == record) {
    undefine(module);
    pd__forget_between(module->low, module->high);
    pd__hooks_forget_between(module->low, module->high);
    pd__defs_drop(&module->defs);
    module->record = NULL;
    module->present = false;
    module->handle = NULL;
    module->opened = 0;
  }
  __atomic_store_n(&record->state, NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&record->host, NULL, __ATOMIC_RELEASE);
  pd__platform_unlock();
}

/* ---- Loading ---- */

static void add_image(const pd__platform_image *image, void *out) {
  pd__platform_lock();
  *(pd_module **)out = add_module(image);
  pd__platform_unlock();
}

/* A library without flags has no record, and so no node yet. */
static pd_module *module_at(const void *inside) {
  pd__platform_lock();
  pd_module *module = find_at(inside);
  pd__platform_unlock();
  if (!module) pd__platform_with_image(inside, add_image, &module);
  return module;
}

/* Not on the stack: a forked child keeps the list, but not the other threads. */
static loading *begin(const char *path, const char *name_space) {
  loading *load = calloc(1, sizeof *load);
  if (!load) return NULL;
  load->thread = pd__platform_thread();
  load->path = path;
  pd__platform_lock();
  load->name_space = pd__intern(name_space);
  if (!load->name_space) {
    pd__platform_unlock();
    free(load);
    return NULL;
  }
  load->outer = loads;
  loads = load;
  pd__platform_unlock();
  return load;
}

/* A load that fails takes along what it brought, which may stay in the process:
 * musl unloads nothing, nor does any loader what is linked with -z nodelete. A
 * later load finds such a module refused, and lets it try again. */
static void withdraw(const loading *load, const pd_module *module) {
  pd_error err;
  for (pd_module *each = modules; each; each = each->next) {
    if (each->joined_in != load || each->opened > 0) continue;
    if (each->status != PD_OK || !each->record) continue;
    each->status = pd__fail(&err, PD_ERR_LOAD, "%.400s: came with %.400s, which was refused",
                            each->path, load->path);
    pd__report late = {.list = each->errors};
    pd__report_add(&late, &err);
    each->withdrawn_with = module;
    undefine(each);
    pd__defs_drop(&each->defs);
  }
}

/* With what `module` had brought when it was refused: no constructor runs again. */
static void rejoin(const pd_module *module) {
  pd__platform_lock();
  for (pd_module *each = modules; each; each = each->next) {
    if (each->withdrawn_with != module || !each->record) continue;
    pd__platform_image image = {.path = each->path, .low = each->low, .high = each->high};
    join(each->record, &image);
  }
  pd__platform_unlock();
}

/* Gather the errors of `module` (NULL: none was opened) and of those that
 * joined in this load. Gives whether all of them were accepted. */
static bool gather(const loading *load, pd_module *module, pd__report *report) {
  bool accepted = !load->lost;
  for (pd_module *each = modules; each; each = each->next) {
    bool joined = each->joined_in == load, refused = each->status != PD_OK;
    if (!joined && (each != module || !refused)) continue;
    pd__report_add_all(report, each->errors);
    if (refused && !each->record) each->present = false;
    accepted &= !refused;
  }
  return accepted;
}

static bool end(loading *ended, pd_module *module, bool sound, pd__report *report) {
  pd__platform_lock();
  loading **at = &loads;
  while (*at != ended) at = &(*at)->outer;
  *at = ended->outer;
  bool accepted = gather(ended, module, report) && sound;
  if (!accepted) withdraw(ended, module);
  for (pd_module *each = modules; each; each = each->next) {
    if (each->joined_in == ended) each->joined_in = NULL;
  }
  pd__platform_unlock();
  if (!accepted && report->status == PD_OK) { /* the message itself was lost */
    pd_error err;
    pd__fail_memory(&err);
    pd__report_add(report, &err);
  }
  free(ended);
  return accepted;
}

static void keep_open(pd_module *module, void *handle) {
  pd__platform_lock();
  module->handle = handle;
  module->opened++;
  module->present = true; /* another thread may have unloaded it meanwhile */
  pd__platform_unlock();
}

/* A module with a record says itself when it leaves. */
static void close_refused(pd_module *module, void *handle) {
  pd__platform_lock();
  if (module && !module->record) module->present = false;
  pd__platform_unlock();
  pd__platform_close(handle);
}

/* With `load` begun: open the library and give its module; NULL: none. */
static pd_module *open_module(const loading *load, void **handle, pd__report *report) {
  const void *inside;
  pd_error err;
  pd_status status = pd__platform_open(load->path, handle, &inside, &err);
  /* Most have joined by now. A module of another ABI looks for its own host. */
  if (status == PD_OK) pd__platform_visit(PD__RECORDS_OF_MODULES, inside, join_locked, NULL);
  pd_module *module = status == PD_OK ? module_at(inside) : NULL;
  if (status == PD_OK && !module) pd__fail_memory(&err);
  if (!module) pd__report_add(report, &err);
  if (module) rejoin(module);
  return module;
}

/* A module that was there before has its flags under the names that it came with. */
static bool check_namespace(const loading *load, const pd_module *module, pd__report *report) {
  pd_error err;
  if (!module->record || !strcmp(module->name_space, load->name_space)) return true;
  const char *in = *module->name_space ? "in namespace " : "without a namespace";
  pd__fail(&err, PD_ERR_CONFLICT, "%.400s: is loaded already, %s%s", module->path, in,
           module->name_space);
  pd__report_add(report, &err);
  return false;
}

pd_status pd__do_module_load_as(const char *path, const char *name_space, pd_error_list *errors,
                                pd_module **out, pd_error *err) {
  if (!path) return pd__fail_null(err, "path");
  if (!name_space) name_space = "";
  pd__report report = {.list = errors, .first = err};
  pd_status status = *name_space ? pd__namespace_check(name_space, err) : PD_OK;
  if (status != PD_OK) return status;
  loading *load = begin(path, name_space);
  if (!load) return pd__fail_memory(err);
  void *handle = NULL;
  pd_module *module = open_module(load, &handle, &report);
  bool sound = module && check_namespace(load, module, &report);
  if (end(load, module, sound, &report)) {
    keep_open(module, handle);
    if (out) *out = module;
  } else if (handle) {
    close_refused(module, handle);
  }
  return report.status;
}

pd_status pd__do_module_load(const char *path, pd_error_list *errors, pd_module **out,
                             pd_error *err) {
  return pd__do_module_load_as(path, NULL, errors, out, err);
}

pd_status pd__do_module_unload(pd_module *module, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  pd__platform_lock();
  void *handle = module->opened > 0 ? module->handle : NULL;
  if (handle) {
    module->opened--;
    if (!module->record && module->opened == 0) {
      module->present = false;
      pd__forget_between(module->low, module->high);
    }
  }
  pd__platform_unlock();
  if (handle) {
    pd__platform_close(handle);
    return PD_OK;
  }
  return pd__fail(err, PD_ERR_ARGUMENT, "%.400s: is not loaded by pd_module_load", module->path);
}

/* ---- Listing ---- */

pd_module *pd__do_module_next(const pd_module *previous) {
  pd__platform_lock();
  pd_module *module = previous ? previous->next : modules;
  pd__platform_unlock();
  return module;
}

static size_t count_flags(const pd_module *module) {
  size_t count = 0;
  for (const pd__defs *defs = &module->defs; defs; defs = defs->more) {
    for (size_t i = 0; i < defs->count; i++) count += defs->cells[i].def->kind == PD_KIND_DEFINE;
  }
  return count;
}

pd_status pd__do_module_get_info(const pd_module *module, pd_module_info *info, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  pd_module_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_module_info, name_space), "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  found.path = module->path;
  found.present = module->present;
  found.flags = count_flags(module);
  found.status = module->status;
  found.name_space = module->name_space;
  pd__platform_unlock();
  pd__sized_give(info, &found, sizeof found);
  return PD_OK;
}

pd_status pd__do_module_get_flag(const pd_module *module, size_t index, pd_flag **out,
                                 pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  if (!out) return pd__fail_null(err, "out");
  size_t left = index;
  pd_flag *flag = NULL;
  pd__platform_lock();
  for (const pd__defs *defs = &module->defs; defs && !flag; defs = defs->more) {
    for (size_t i = 0; i < defs->count && !flag; i++) {
      const pd__cell *cell = &defs->cells[i];
      if (cell->def->kind == PD_KIND_DEFINE && left-- == 0) flag = pd__cell_flag(cell);
    }
  }
  pd__platform_unlock();
  if (!flag) return pd__fail(err, PD_ERR_ARGUMENT, "%.400s: has no flag %zu", module->path, index);
  *out = flag;
  return PD_OK;
}

pd_status pd__do_module_get_errors(const pd_module *module, pd_error_list *errors, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  if (!errors) return pd__fail_null(err, "errors");
  pd__report report = {.list = errors};
  size_t before = pd__do_error_list_count(errors);
  pd__platform_lock();
  pd__report_add_all(&report, module->errors);
  bool whole = pd__do_error_list_count(errors) - before == pd__do_error_list_count(module->errors);
  pd__platform_unlock();
  return whole ? PD_OK : pd__fail_memory(err);
}
