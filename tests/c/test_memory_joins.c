/* Modules that join while memory is out: a load that has lost one fails, and nothing ends the
 * process.
 *
 * Built with: -I$SOURCES -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free $LIBRARY
 */
#include <dlfcn.h>

#include "failing.h"
#include "module/module.h"
#include "used_up.h"

static const char *plugin(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/lib%s.so", getenv("PLUGINS"), name);
  return path;
}

static void *open_plugin(const char *name) {
  void *handle = dlopen(plugin(name), RTLD_NOW | RTLD_LOCAL);
  if (!handle) check_fail(__FILE__, __LINE__, "%s", dlerror());
  return handle;
}

static pd_module *module;
static pd_status load(const char *name) {
  return pd_module_load(plugin(name), NULL, &module, &err);
}

/* ---- A module that stays, withdrawn ---- */

static void withdraw_staged(void) {
  void *user = open_plugin("staged_user");
  int (*call)(void) = (int (*)(void))(intptr_t)dlsym(user, "staged_call");
  CHECK_OK(load("staged"));
  CHECK(call && call() == 2);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(!is_defined("staged_level"));
}

static pd_status load_staged(void) { return load("staged"); }
static void check_not_staged(void) { CHECK(!is_defined("staged_level")); }
static void check_staged(void) { CHECK(is_defined("staged_level") && is_defined("staged_plain")); }

TEST(a_withdrawn_module_joins_or_its_load_fails) {
  run(&(scenario){withdraw_staged, load_staged, check_not_staged, check_staged}, 4);
}

/* ---- Refusals that find no memory ---- */

/* Each allocation fails in a process of its own. */
static void run_each(void (*act)(void)) {
  for (int number = 0; number < 60; number++) {
    for (int rest = 0; rest < 2; rest++) {
      pid_t child = fork();
      CHECK(child >= 0);
      if (child == 0) {
        alarm(240);
        to_the_end = rest;
        left = number;
        act();
        left = -1;
        define_flag(PD_TYPE_bool, "afterwards");
        _exit(0);
      }
      int status = -1;
      CHECK(waitpid(child, &status, 0) == child);
      if (status != 0) check_fail(__FILE__, __LINE__, "with allocation %d failing", number);
    }
  }
}

static void load_other_abi(void) {
  CHECK(load("uses_foreign") != PD_OK && !module);
  left = -1;
  CHECK(!is_defined("uses_foreign") && !is_defined("foreign"));
}

TEST(a_library_of_another_abi_is_never_accepted) { run_each(load_other_abi); }

static void load_other_abi_alone(void) { CHECK(load("other_abi") != PD_OK && !module); }

TEST(a_module_of_another_abi_is_never_accepted) { run_each(load_other_abi_alone); }

static void open_clash(void) { open_plugin("clash"); }

TEST(a_module_that_is_refused_on_its_own_ends_no_process) {
  define_flag(PD_TYPE_int64, "alpha_level");
  run_each(open_clash);
  use_up_text();
  run_each(open_clash);
}

static void open_alpha(void) { open_plugin("alpha"); }

TEST(a_waiting_value_that_is_refused_when_a_module_joins_ends_no_process) {
  CHECK_OK(pd_pending_set("alpha_level", "99", NULL, &err));
  run_each(open_alpha);
  use_up_text();
  run_each(open_alpha);
}

/* ---- Images ---- */

static int added;

static pd_status add_images(void) {
  char path[32];
  while (added < 3000) {
    snprintf(path, sizeof path, "/image/%d", added);
    uintptr_t low = 0x1000 * (uintptr_t)(added + 1);
    pd__platform_image image = {.path = path, .low = low, .high = low + 0x1000};
    pd__platform_lock();
    module = pd__member_add(&image);
    pd__platform_unlock();
    if (!module) return pd__fail_memory(&err);
    added++;
  }
  return PD_OK;
}

static void check_images(void) { CHECK(module && added == 3000); }

TEST(an_image_becomes_a_module_with_a_membership_or_none) {
  run(&(scenario){nothing, add_images, nothing, check_images}, 8);
}
