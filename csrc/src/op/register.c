/* Implementations at run time: the registry keeps copies of their records. */
#include <stdlib.h>
#include <string.h>

#include "../base/numbered.h"
#include "../base/sized.h"
#include "../base/text.h"
#include "op.h"

enum { USED = 3 }; /* addresses in images that a record may need */

typedef struct registered_impl {
  pd__impl impl;
  pd_op_def def;
  pd_op_signature signature;
  pd_module *modules[USED]; /* of its function, its slot and `usable`; NULL for none */
} registered_impl;

static pd__numbered all;

/* ---- Registering ---- */

static uintptr_t get_address_used_by_impl(const pd_op_def *def, size_t i) {
  const uintptr_t used[] = {(uintptr_t)def->choice.function, (uintptr_t)def->slot,
                            (uintptr_t)def->choice.usable};
  return used[i];
}

static void release_impl_modules(pd__operation *operation, const registered_impl *one) {
  for (size_t i = 0; i < USED; i++) pd__module_remove_registration(operation, one->modules[i]);
}

/* Stores the texts for good: many records share them. */
static bool intern_record_texts(registered_impl *made) {
  pd_op_def *def = &made->def;
  const pd_op_def given = *def;
  made->signature = *given.signature;
  def->signature = &made->signature;
  def->name = pd__intern_text(given.name);
  def->about.help = pd__intern_text(given.about.help);
  def->about.arrays = pd__intern_text(given.about.arrays);
  def->file = pd__intern_text(given.file);
  made->signature.name = pd__intern_text(given.signature->name);
  made->signature.text = pd__intern_text(given.signature->text);
  return def->name && made->signature.name && made->signature.text &&
         !def->about.help == !given.about.help && !def->about.arrays == !given.about.arrays &&
         !def->file == !given.file;
}

static void drop_registered_impl(pd__operation *operation, registered_impl *gone) {
  pd__numbered_remove(&all, gone->impl.registered);
  pd__impls_unlink(&gone->impl, 1);
  release_impl_modules(operation, gone);
  free(gone);
}

static pd_status check_slot_and_function(const pd_op_def *def, pd_error *err) {
  bool imports = def->kind == PD_KIND_OP_IMPORT;
  if (imports && !def->slot) return pd__fail(err, PD_ERR_ARGUMENT, "an import's slot is NULL");
  if (imports || !def->slot || def->choice.function) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT, "a slot without a function, expected both or none");
}

pd_status pd_impl_register(const pd_op_def *def, pd_impl *out, pd_error *err) {
  if (!def) return pd__fail_null(err, "def");
  pd_op_def whole;
  pd_status status = pd__impl_convert(def, &whole, err);
  if (status == PD_OK) status = pd__impl_check_record(&whole, err);
  if (status == PD_OK) status = check_slot_and_function(&whole, err);
  registered_impl *made = status == PD_OK ? calloc(1, sizeof *made) : NULL;
  if (!made) return status == PD_OK ? pd__fail_memory(err) : status;
  made->def = whole;
  bool imports = whole.kind == PD_KIND_OP_IMPORT;
  for (size_t i = 0; i < USED; i++) { /* the loader mustn't be called with the lock held */
    made->modules[i] = pd__module_add_registration(get_address_used_by_impl(&whole, i));
  }
  made->impl = (pd__impl){.def = &made->def, .module = made->modules[imports ? 1 : 0]};
  PD__LOCKED_OPERATION(operation);
  pd__report report = {.first = err};
  pd_impl number = intern_record_texts(made) ? pd__numbered_add(&all, made) : 0;
  if (!number) pd__report_fail_memory(&report);
  made->impl.registered = number;
  if (!number || !pd__impls_link(&made->impl, 1, &report)) {
    if (number) pd__numbered_remove(&all, number);
    release_impl_modules(&operation, made);
    free(made);
    return pd__operation_return(&operation, report.status);
  }
  pd_impl before = out ? *out : 0;
  if (out) *out = number; /* `usable` may take it back */
  pd__families_update_changed(&operation, &report);
  made = pd__numbered_find(&all, number); /* it may have left meanwhile */
  bool stays = !made || pd__impls_check_flags_defined(&made->impl, 1, &report);
  if (!stays) drop_registered_impl(&operation, made);
  if (!stays && out) *out = before;
  return pd__operation_return(&operation, report.status);
}

/* ---- Leaving ---- */

pd_status pd_impl_unregister(pd_impl impl, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  registered_impl *found = pd__numbered_find(&all, impl);
  if (!found) {
    pd_status status = pd__fail(err, PD_ERR_ARGUMENT, "there is no registered implementation %llu",
                                (unsigned long long)impl);
    return pd__operation_return(&operation, status);
  }
  pd__report waiting = {0}; /* of values that the flag has now refused: they wait */
  drop_registered_impl(&operation, found);
  pd__families_update_changed(&operation, &waiting);
  return pd__operation_return(&operation, PD_OK);
}

void pd__impls_unregister_for_module(pd__operation *operation, const pd_module *module) {
  pd_impl last = 0;
  for (registered_impl *each; (each = pd__numbered_find_after(&all, last));) {
    size_t i = 0;
    while (i < USED && !pd__module_has_address(module, get_address_used_by_impl(&each->def, i)))
      i++;
    last = each->impl.registered;
    if (i < USED) drop_registered_impl(operation, each);
  }
}
