/* What the files of the core ask of those that it leaves out: nobody is to be asked,
 * told or warned, and nothing comes from the environment. */
#include "../environment.h"
#include "../hooks.h"
#include "../namespace.h"

/* ---- Validators, watchers and warnings ---- */

size_t pd__general_watchers, pd__notices_due;
bool pd__warnings_due, pd__releases_due;

pd__hook *pd__hooks_first(void) { return NULL; }

void pd__hooks_forget_between(uintptr_t low, uintptr_t high) {
  (void)low;
  (void)high;
}

pd_status pd__call_check(pd_error *err) {
  (void)err;
  return PD_OK;
}

void pd__validators_ask(pd__changes *changes) { (void)changes; }

pd_status pd__notices_prepare(pd__changes *changes, pd__notice **out, pd_error *err) {
  (void)changes;
  (void)err;
  *out = NULL;
  return PD_OK;
}

void pd__notices_post(pd__notice *notices) { (void)notices; }

void pd__warn_of_name(pd_flag *node, const pd_flag *flag) {
  (void)node;
  (void)flag;
}

void pd__warn_of_flag(pd_flag *flag, const pd_origin *origin) {
  (void)flag;
  (void)origin;
}

void pd__tell_all(void) {}

/* ---- The environment ---- */

bool pd__environment_used(void) { return false; }

void pd__environment_apply(pd_flag *flag, pd__report *report) {
  (void)flag;
  (void)report;
}

/* ---- Messages ---- */

void pd__names_hint(const char *name, size_t length, const char *prefix, char out[PD__HINT_SIZE]) {
  (void)name;
  (void)length;
  (void)prefix;
  *out = '\0';
}

/* ---- Namespaces: pd_module_load_as alone asks for them ---- */

pd_status pd__namespace_apply(const char *name_space, pd_flag_def *def, pd_error *err) {
  (void)name_space;
  (void)def;
  return pd__fail_memory(err);
}
