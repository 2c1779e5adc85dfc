/* What is listed of operations and implementations. */
#include <stdio.h>
#include <string.h>

#include "../base/sized.h"
#include "../base/text.h"
#include "op.h"

static pd__op *find_first_op(const pd__family *family) {
  while (family && !family->ops) family = pd__family_next(family);
  return family ? family->ops : NULL;
}

pd_op *pd_op_next(const pd_op *previous) {
  pd__platform_lock();
  pd__op *op = previous && previous->next ? previous->next : NULL;
  const pd__family *family = previous ? pd__family_next(previous->family) : pd__family_next(NULL);
  if (!op) op = find_first_op(family);
  pd__platform_unlock();
  return op;
}

static pd_status fail_unknown_op(const char *name, pd_error *err) {
  const char *nearest = NULL;
  char escaped[PD__ESCAPED_SIZE];
  unsigned least = PD__TOO_FAR;
  for (const pd__family *each = NULL; (each = pd__family_next(each));) {
    unsigned far = pd__edit_distance(name, strlen(name), each->name, strlen(each->name));
    if (far >= least || each->members == 0) continue;
    least = far;
    nearest = each->name;
  }
  return pd__fail(err, PD_ERR_UNDEFINED, "operation '%s' is not defined%s%s%s",
                  pd__escape_text(escaped, name), nearest ? "; did you mean '" : "",
                  nearest ? nearest : "", nearest ? "'?" : "");
}

static const char *explain_choice(const pd__impl *impl) {
  const pd__op *op = impl->op;
  const pd_flag *flag = pd__cell_flag(&op->family->cell);
  char text[PD_NAME_MAX + 100];
  bool named;
  if (impl == op->winner) return "chosen";
  if (impl->why) return impl->why;
  if (pd__impl_is_foreign(impl)) return "is not native code: modules don't call it";
  if (flag && pd__preference_find_rank(pd__flag_value(flag).str, impl->name, &named) == 0) {
    snprintf(text, sizeof text, "%s leaves it out", op->family->def.name);
  } else {
    snprintf(text, sizeof text, "after '%s' in the order", op->winner ? op->winner->name : "");
  }
  return pd__intern_text(text);
}

/* "; *0: double (double, double): native of rank 0 at pow.c:3 in libpow.so (chosen), …" */
static void append_candidates_text(const pd__family *family, char *out, size_t size) {
  char place[PD__RECORD_LOCATION_SIZE];
  unsigned count = 0;
  for (const pd__op *op = family->ops; op; op = op->next) {
    if (op->candidates) pd__append_format(out, size, "; *%u: %s:", count++, op->text);
    for (const pd__impl *each = op->candidates; each; each = each->next_candidate) {
      const char *why = explain_choice(each);
      pd__append_format(out, size, "%s %s of rank %d at %s (%s)", each == op->candidates ? "" : ",",
                        each->name, (int)each->def->choice.rank,
                        pd__impl_write_location(each->def, each->module, place), why ? why : "");
    }
  }
}

static pd_status fail_op_not_found(const char *name, const pd__family *family, pd_error *err) {
  char found[900] = "", escaped[PD__ESCAPED_SIZE];
  if (!family) return fail_unknown_op(name, err);
  append_candidates_text(family, found, sizeof found);
  return pd__fail(err, PD_ERR_TYPE, "operation '%s' has no such signature%s",
                  pd__escape_text(escaped, name), *found ? found : ", and none that is defined");
}

pd_status pd_op_find(const char *name, const uint8_t *types, pd_op **out, pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!out) return pd__fail_null(err, "out");
  PD__LOCKED_OPERATION(operation);
  pd__family *family = pd__family_find(name, strlen(name));
  if (family && family->members == 0) family = NULL;
  pd__op *op = family && types ? pd__op_find_by_types(family, types) : NULL;
  if (family && !types) op = family->ops;
  if (op) *out = op;
  return pd__operation_return(&operation, op ? PD_OK : fail_op_not_found(name, family, err));
}

static const char *intern_or_empty(const char *text) { return text ? pd__intern_text(text) : ""; }

/* Interns the texts, which the caller may keep. Returns false if memory is out. */
static bool fill_op_info(const pd_op *op, pd_op_info *info) {
  const pd__impl *definition = op->candidates;
  while (definition && definition->def->kind != PD_KIND_OP) definition = definition->next_candidate;
  info->name = op->family->name;
  info->signature = op->text;
  info->types = op->types;
  info->help = intern_or_empty(definition ? definition->def->about.help : NULL);
  info->arrays = intern_or_empty(definition ? definition->def->about.arrays : NULL);
  info->file = intern_or_empty(definition ? definition->def->file : NULL);
  info->line = definition ? definition->def->line : 0;
  info->module = definition ? definition->module : NULL;
  info->flag = pd__cell_flag(&op->family->cell);
  info->scoped = op->family->scoped > 0;
  info->winner = SIZE_MAX;
  for (const pd__impl *each = op->candidates; each; each = each->next_candidate) {
    if (each == op->winner) info->winner = info->impls;
    info->impls++;
  }
  if (!op->winner) info->winner = info->impls;
  return info->help && info->file && info->arrays;
}

pd_status pd_op_get_info(const pd_op *op, pd_op_info *info, pd_error *err) {
  if (!op) return pd__fail_null(err, "op");
  pd_op_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, sizeof found, "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  bool whole = fill_op_info(op, &found);
  pd__platform_unlock();
  if (!whole) return pd__fail_memory(err);
  pd__sized_copy_out(info, &found, sizeof found);
  return PD_OK;
}

static size_t find_impl_index(const pd__impl *impl) {
  size_t index = 0;
  for (const pd__impl *each = impl->op->candidates; each != impl; each = each->next_candidate) {
    index++;
  }
  return index;
}

static bool fill_impl_info(const pd__impl *impl, pd_impl_info *info) {
  info->index = find_impl_index(impl);
  info->name = impl->name;
  info->file = intern_or_empty(impl->def->file);
  info->line = impl->def->line;
  info->rank = impl->def->choice.rank;
  info->module = impl->module;
  info->native = impl->def->kind == PD_KIND_OP;
  info->chosen = impl == impl->op->winner;
  info->why = explain_choice(impl);
  info->function = impl->def->choice.function;
  info->number = impl->registered;
  return info->file && info->why;
}

pd_status pd_op_get_impl(const pd_op *op, size_t index, pd_impl_info *info, pd_error *err) {
  if (!op) return pd__fail_null(err, "op");
  pd_impl_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, sizeof found, "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  const pd__impl *impl = op->candidates;
  for (size_t left = index; impl && left > 0; left--) impl = impl->next_candidate;
  bool whole = impl && fill_impl_info(impl, &found);
  pd__platform_unlock();
  if (!impl) {
    return pd__fail(err, PD_ERR_ARGUMENT, "operation '%s' has no implementation %zu",
                    op->family->name, index);
  }
  if (!whole) return pd__fail_memory(err);
  pd__sized_copy_out(info, &found, sizeof found);
  return PD_OK;
}

pd_status pd_op_choose(const pd_op *op, pd_impl_info *info, pd_error *err) {
  if (!op) return pd__fail_null(err, "op");
  pd_impl_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, sizeof found, "info", err);
  if (status != PD_OK) return status;
  PD__LOCKED_OPERATION(operation);
  const pd__impl *impl = pd__op_choose_for_thread(&operation, op);
  if (!impl) {
    status = pd__fail(err, PD_ERR_UNDEFINED, "operation '%s', %s: no implementation can run here",
                      op->family->name, op->text);
  } else if (fill_impl_info(impl, &found)) {
    pd__sized_copy_out(info, &found, sizeof found);
  } else {
    status = pd__fail_memory(err);
  }
  if (op->family->missed_answer) pd__family_choose_impls(&operation, op->family);
  return pd__operation_return(&operation, status);
}

pd_status pd_op_check_again(pd_op *op, pd_error *err) {
  if (!op) return pd__fail_null(err, "op");
  PD__LOCKED_OPERATION(operation);
  for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
    if (each->asking) continue;
    each->asked = false;
    each->why = NULL;
    op->last_compared = NULL;
  }
  pd__family_choose_impls(&operation, op->family);
  return pd__operation_return(&operation, PD_OK);
}
