/* What the program is, for all modules of the process. */
#include "../base/sized.h"
#include "../base/text.h"
#include "input.h"

static pd_program kept; /* guarded by the lock; its text and argv live forever */

static const char *const *keep_argv(const char *const *argv, int argc) {
  size_t count = argc > 0 ? (size_t)argc : 0;
  const char **copy = pd__forever((count + 1) * sizeof *copy);
  for (size_t i = 0; copy && i < count; i++) {
    copy[i] = pd__intern(argv[i]);
    if (!copy[i]) return NULL;
  }
  if (copy) copy[count] = NULL;
  return copy;
}

/* `given` may be NULL. */
static bool keep_text(const char *given, const char **out) {
  if (given) *out = pd__intern(given);
  return *out || !given;
}

/* With the lock. */
static pd_status keep(const pd_program *program, pd_error *err) {
  pd_program next = kept;
  if (program->argv) {
    next.argc = program->argc > 0 ? program->argc : 0;
    next.argv = keep_argv(program->argv, program->argc);
    if (!next.argv) return pd__fail_memory(err);
  }
  if (!keep_text(program->usage, &next.usage) || !keep_text(program->version, &next.version)) {
    return pd__fail_memory(err);
  }
  kept = next;
  return PD_OK;
}

pd_status pd__do_program_set(const pd_program *program, pd_error *err) {
  pd_program given;
  pd_status status = pd__sized_take(program, 0, &given, sizeof given, "program", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  status = keep(&given, err);
  pd__platform_unlock();
  return status;
}

pd_status pd__do_program_get(pd_program *program, pd_error *err) {
  pd_status status = pd__sized_check(program, PD__SIZE_UP_TO(pd_program, version), "program", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  pd_program found = kept;
  pd__platform_unlock();
  found.size = sizeof found;
  pd__sized_give(program, &found, sizeof found);
  return PD_OK;
}
