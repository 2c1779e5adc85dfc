/* Usage text, version and command line of the program, for all modules of the process. */
#include "../base/sized.h"
#include "../base/text.h"
#include "input.h"

static pd_program kept; /* guarded by the lock; its texts and argv are never freed */

static const char *const *copy_argv(const char *const *argv, int argc) {
  const char **copy = pd__alloc_forever(((size_t)argc + 1) * sizeof *copy);
  for (int i = 0; copy && i < argc; i++) {
    copy[i] = pd__intern_text(argv[i]);
    if (!copy[i]) return NULL;
  }
  if (copy) copy[argc] = NULL;
  return copy;
}

/* The caller holds the lock. */
static pd_status merge_program_info(const pd_program *program, pd_error *err) {
  pd_program next = kept;
  if (program->argv) {
    next.argc = program->argc;
    next.argv = copy_argv(program->argv, program->argc);
  }
  if (program->usage) next.usage = pd__intern_text(program->usage);
  if (program->version) next.version = pd__intern_text(program->version);
  bool lost = (program->argv && !next.argv) || (program->usage && !next.usage) ||
              (program->version && !next.version);
  if (lost) return pd__fail_memory(err);
  kept = next;
  return PD_OK;
}

static pd_status check_argv(const pd_program *program, pd_error *err) {
  if (program->argc < 0) {
    return pd__fail(err, PD_ERR_ARGUMENT, "program->argc is %d, expected 0 or more", program->argc);
  }
  for (int i = 0; i < program->argc; i++) {
    if (program->argv[i]) continue;
    return pd__fail(err, PD_ERR_ARGUMENT, "program->argv[%d] is NULL, expected text", i);
  }
  return PD_OK;
}

pd_status pd_program_set(const pd_program *program, pd_error *err) {
  pd_program given;
  pd_status status = pd__sized_copy_in(program, PD__SIZE_UP_TO(pd_program, version), &given,
                                       sizeof given, "program", err);
  if (status == PD_OK && given.argv) status = check_argv(&given, err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  status = merge_program_info(&given, err);
  pd__platform_unlock();
  return status;
}

pd_status pd_program_get(pd_program *program, pd_error *err) {
  pd_status status = pd__sized_check(program, PD__SIZE_UP_TO(pd_program, version), "program", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  pd_program found = kept;
  pd__platform_unlock();
  found.size = sizeof found;
  pd__sized_copy_out(program, &found, sizeof found);
  return PD_OK;
}
