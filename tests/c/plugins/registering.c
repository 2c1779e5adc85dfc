/* Its constructor registers what REGISTERING in the environment says, without libpd_flags on the
 * link line: code and data of this library, which are gone when it has left. */
#define PD_HEADER_ONLY
#include <pd_flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_ignore_object(pointer) (void)0
#endif

__attribute__((visibility("default"))) int registering_calls;

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  registering_calls += context != NULL;
  if (entries[0]->value.i64 < 100) return true;
  snprintf(why, size, "expected less than %d", 100);
  return false;
}

static void notice(pd_flag *flag, void *context) { registering_calls += flag && context; }

static void take_warning(const char *message, pd_warning kind, void *context) {
  registering_calls += message && kind == PD_WARNING_DEPRECATED && context;
}

static void release(void *context) { ++*(int *)context; }

static const char *get(void *cell) { return *(const char **)cell; }
static void put(void *cell, const char *text) {
  registering_calls++;
  *(const char **)cell = text;
}
static const pd_cell_access access_by_code = {
    .size = sizeof(pd_cell_access), .get = get, .put = put};

static bool is_wanted(const char *word) {
  const char *words = getenv("REGISTERING");
  return words && strstr(words, word);
}

static pd_flag *find(const char *name) {
  pd_flag *flag = NULL;
  pd_flag_find(name, &flag, NULL);
  return flag;
}

static void define(const char *name, pd_type type) {
  static int64_t cell;
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, type);
  def.name = name;
  def.context = &registering_calls;
  if (is_wanted("-cell")) def.cell = &cell;
  if (is_wanted("-validate")) def.validate = is_small;
  if (is_wanted("-watch")) def.watch = notice;
  if (is_wanted("-access")) def.access = &access_by_code;
  if (is_wanted("-access")) {
    def.cell = calloc(1, sizeof(const char *)); /* stays */
    __lsan_ignore_object(def.cell);
  }
  pd_flag_register(&def, NULL, NULL);
}

static void add_hooks(pd_flag *own) {
  void *context = &registering_calls;
  if (is_wanted("+validate")) pd_validator_add(&own, 1, is_small, context, release, NULL, NULL);
  if (is_wanted("+watch")) pd_watcher_add(own, notice, context, release, NULL, NULL);
  if (is_wanted("+all")) pd_watcher_add(NULL, notice, context, release, NULL, NULL);
}

__attribute__((constructor)) static void enter(void) {
  if (is_wanted("-")) define("registered", is_wanted("-access") ? PD_TYPE_string : PD_TYPE_int64);
  if (is_wanted("+")) add_hooks(find("own"));
  if (is_wanted("warn")) pd_warning_handle(take_warning, &registering_calls, NULL);
}
