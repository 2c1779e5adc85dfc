/* Two copies of the library in one process: the first one hosts the registry.
 *
 * Built with: $LIBRARY
 */
#include <dlfcn.h>
#include <stdint.h>

#include "check.h"

static void *open_other_copy(void) {
  const char *path = getenv("LIBRARY");
  void *copy = dlopen(path ? path : "libpd_flags.so", RTLD_NOW | RTLD_LOCAL);
  if (!copy) check_fail(__FILE__, __LINE__, "%s", dlerror());
  return copy;
}

static void *function_of(void *copy, const char *name) {
  void *found = dlsym(copy, name);
  CHECK(found);
  return found;
}

typedef pd_status register_function(const pd_flag_def *def, pd_flag **out, pd_error *err);
typedef pd_flag *next_function(const pd_flag *previous);
typedef pd_status copy_function(size_t index, pd_copy_info *info, pd_error *err);

static pd_copy_info get_info(copy_function *get, size_t index) {
  pd_copy_info info = {.size = sizeof info};
  CHECK_OK(get(index, &info, &err));
  CHECK_STR(info.version, pd_version());
  return info;
}

/* Of both copies, only this one hosts. */
static void check_host(copy_function *get, bool first_hosts, bool second_hosts) {
  pd_copy_info one = get_info(get, 0), two = get_info(get, 1);
  CHECK(one.hosting == first_hosts && two.hosting == second_hosts);
  CHECK(strstr(one.path, "/program") && strstr(two.path, "libpd_flags.so"));
  CHECK(get(2, &one, NULL) == PD_ERR_ARGUMENT);
}

TEST(a_copy_that_comes_second_uses_the_registry_of_the_first) {
  pd_flag *mine = define_flag(PD_TYPE_int64, "mine"), *theirs = NULL;
  void *other = open_other_copy();
  next_function *next = (next_function *)(intptr_t)function_of(other, "pd_flag_next");
  register_function *define = (register_function *)(intptr_t)function_of(other, "pd_flag_register");
  CHECK(next(NULL) == mine && !next(mine));
  pd_flag_def def = definition(PD_TYPE_int64, "theirs");
  CHECK_OK(define(&def, &theirs, &err));
  CHECK(pd_flag_next(mine) == theirs);
  check_host(pd_copy_get_info, true, false);
}
