/* Choices that follow one another: only what has come since the last one is compared.
 *
 * Built with: -Wl,--wrap=free $LIBRARY
 */
#include <malloc.h>

#include "plugged.h"

/* What is freed is overwritten, so that reading it shows. */
void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  if (memory) memset(memory, 0x55, malloc_usable_size(memory));
  __real_free(memory);
}

typedef double calls(double x, double y);
#define NATIVE 2003.0

static calls *calls_of(const char *plugin, const char *name) {
  return (calls *)(intptr_t)symbol_in(plugin, name);
}

TEST(what_comes_and_is_not_listed_leaves_the_native_implementation_in_every_module) {
  load_module("op_native");
  CHECK_OK(pd_flag_set_by_name("impl.pow", "?missing", &err));
  load_module("op_fast");
  CHECK(calls_of("op_native", "native_calls")(2, 3) == NATIVE);
  CHECK(calls_of("op_fast", "fast_calls")(2, 3) == NATIVE);
}

static double one(double x, double y) { return x * 0 + y * 0 + 1; }
static double two(double x, double y) { return x * 0 + y * 0 + 2; }

static pd_impl register_impl(const char *name, calls *function, int32_t rank) {
  static const pd_op_signature signature = {
      "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = name};
  pd_impl number = 0;
  def.signature = &signature;
  def.choice = (pd_op_choice){.function = (void (*)(void))function, .rank = rank};
  CHECK_OK(pd_impl_register(&def, &number, &err));
  return number;
}

TEST(what_comes_after_the_latest_one_has_left_is_compared) {
  load_module("op_native");
  pd_impl low = register_impl("low", one, -1);
  CHECK_OK(pd_impl_unregister(low, &err));
  register_impl("high", two, 100);
  CHECK(calls_of("op_native", "native_calls")(2, 3) == 2);
}

static pd_impl own;
static const char *leave_meanwhile(void) {
  CHECK(pd_impl_unregister(own, NULL) == PD_OK);
  return NULL;
}

TEST(an_implementation_that_takes_itself_back_while_it_is_asked_is_gone) {
  static const pd_op_signature signature = {
      "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};
  load_module("op_native");
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "leaving"};
  def.signature = &signature;
  def.choice = (pd_op_choice){(void (*)(void))one, 100, leave_meanwhile};
  CHECK_OK(pd_impl_register(&def, &own, &err));
  CHECK(calls_of("op_native", "native_calls")(2, 3) == NATIVE);
  CHECK(pd_impl_unregister(own, NULL) == PD_ERR_ARGUMENT);
}

static const char *reason;
static const char *get_reason(void) { return reason; }
static int fallback(void) { return -1; }

TEST(a_native_implementation_that_cannot_run_is_called_by_its_own_module_alone) {
  static const pd_op_signature signature = {"level", "int (void)", {PD_CODE_INT32, 0}};
  static void (*own_slot)(void), (*other_slot)(void);
  pd_op *op;
  pd_module *alpha = load_module("alpha");
  void (*level)(void) = (void (*)(void))(intptr_t)symbol_in("alpha", "alpha_level");
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_OP, .name = "native"};
  def.signature = &signature;
  def.slot = &own_slot;
  def.choice = (pd_op_choice){level, 0, get_reason};
  reason = "no luck";
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.kind = PD_KIND_OP_IMPORT;
  def.slot = &other_slot;
  def.choice = (pd_op_choice){(void (*)(void))fallback, 0, NULL};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK(own_slot == level && other_slot == (void (*)(void))fallback);
  reason = NULL;
  CHECK_OK(pd_op_find("level", NULL, &op, &err));
  CHECK_OK(pd_op_check_again(op, &err));
  CHECK(own_slot == level && other_slot == level);
  CHECK_OK(pd_module_unload(alpha, &err));
  CHECK(is_loaded("alpha")); /* its code may still be called */
}

TEST(the_implementations_of_a_plugin_leave_with_it_and_others_stay) {
  if (!LOADER_UNMAPS) return;
  pd_op_info info = {.size = sizeof info};
  pd_op *op;
  load_module("op_native");
  pd_module *other = load_module("plain"), *alpha = load_module("alpha");
  static const pd_op_signature signature = {
      "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "of_program"};
  def.signature = &signature;
  def.choice = (pd_op_choice){(void (*)(void))one, -5, NULL};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.name = "of_alpha";
  def.choice.function = (void (*)(void))(intptr_t)symbol_in("alpha", "alpha_level");
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.name = "asks_alpha";
  def.choice.usable = (const char *(*)(void))(intptr_t)symbol_in("alpha", "alpha_level");
  def.choice.function = (void (*)(void))two;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  CHECK_OK(pd_module_unload(other, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(info.impls == 4);
  CHECK_OK(pd_module_unload(alpha, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(info.impls == 2);
}

TEST(a_native_implementation_that_cannot_run_but_stays_is_called_by_all_modules) {
  static const pd_op_signature signature = {"level", "int (void)", {PD_CODE_INT32, 0}};
  static void (*own_slot)(void); /* written until the end */
  load_module("staged");
  void (**other_slot)(void) = symbol_in("staged", "staged_during_validate");
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_OP, .name = "native"};
  def.signature = &signature;
  def.slot = &own_slot;
  def.choice = (pd_op_choice){(void (*)(void))one, 0, get_reason};
  reason = "no luck";
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.kind = PD_KIND_OP_IMPORT;
  def.slot = other_slot;
  def.choice = (pd_op_choice){(void (*)(void))fallback, 0, NULL};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK(own_slot == (void (*)(void))one && *other_slot == (void (*)(void))one);
}

TEST(a_module_calls_its_own_native_implementation_also_if_it_cannot_run) {
  static const pd_op_signature signature = {"level", "int (void)", {PD_CODE_INT32, 0}};
  static void (*own_slot)(void); /* written until the end */
  load_module("staged");
  void (**inner_slot)(void) = symbol_in("staged", "staged_during_validate");
  void (*code)(void) = (void (*)(void))(intptr_t)symbol_in("staged", "staged_define_late");
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_OP, .name = "native"};
  def.signature = &signature;
  def.slot = &own_slot;
  def.choice = (pd_op_choice){code, 0, get_reason};
  reason = "no luck";
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.kind = PD_KIND_OP_IMPORT;
  def.slot = inner_slot;
  def.choice = (pd_op_choice){(void (*)(void))fallback, 0, NULL};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK(own_slot == code && *inner_slot == code);
}
