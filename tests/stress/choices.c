/* An operation whose implementations come and go: those of plugins, and those that threads
 * register. */
#include "modules.h"

#define REGISTERED_RANK 70

static int return_native(void) { return 1; }
PD_DEFINE_OP(stress_rank, int, (void), return_native, "The rank of what runs");

static pd_op *operation;
static pd_flag *choice;
static const uint8_t codes[] = {PD_CODE_INT32, PD_CODE_VOID, 0};

void begin_choices(void) {
  MUST_BE(NULL, pd_op_find("stress_rank", NULL, &operation, NULL), PD_OK);
  MUST_BE(NULL, pd_flag_find("impl.stress_rank", &choice, NULL), PD_OK);
}

static bool is_rank(int result) {
  return result == 1 || result == REGISTERED_RANK || result == 50 || result == 100;
}

void choose_impl(actor *who) {
  static const char *const lists[] = {"*", "native", "?chosen,*", "?swift,*", "native,*"};
  if (pick_number(who, 4) == 0) {
    MUST_BE(who, pd_op_check_again(operation, NULL), PD_OK);
  } else {
    MUST_BE(who, pd_flag_set_from_string(choice, lists[pick_number(who, 5)], NULL), PD_OK);
  }
}

void call_operation(actor *who) {
  pd_op_info info = {.size = sizeof info};
  for (int i = 0; i < 100; i++) MUST(who, is_rank(PD_CALL(stress_rank)()));
  MUST_BE(who, pd_op_get_info(operation, &info, NULL), PD_OK);
  MUST(who, info.impls >= 1 && info.winner <= info.impls && info.flag == choice);
}

static int return_registered(void) { return REGISTERED_RANK; }

static const char *say_usable(void) {
  yield_sometimes();
  return NULL;
}

void register_impl(actor *who) {
  static const char *const names[THREADS] = {"first", "second", "third", "fourth"};
  if (who->impl) {
    MUST_BE(who, pd_impl_unregister(who->impl, NULL), PD_OK);
    who->impl = 0;
    return;
  }
  pd_op_signature signature = {.name = "stress_rank", .text = "int (void)"};
  memcpy(signature.types, codes, sizeof codes);
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = names[who->number]};
  def.signature = &signature;
  def.choice = (pd_op_choice){(void (*)(void))return_registered, REGISTERED_RANK, say_usable};
  MUST_BE(who, pd_impl_register(&def, &who->impl, NULL), PD_OK);
}

/* The highest rank of what is there runs, and nothing else is there. */
void check_choice(const actor *actors) {
  int highest = 1;
  size_t count = 1;
  pd_op_info info = {.size = sizeof info};
  for (size_t i = 0; i < plugin_count; i++) {
    bool there = plugins[i].rank && plugins[i].held;
    count += there;
    if (there && plugins[i].rank > highest) highest = plugins[i].rank;
  }
  for (int i = 0; i < THREADS; i++) {
    count += actors[i].impl != 0;
    if (actors[i].impl && highest < REGISTERED_RANK) highest = REGISTERED_RANK;
  }
  MUST_BE(NULL, pd_flag_set_from_string(choice, "*", NULL), PD_OK);
  int result = PD_CALL(stress_rank)();
  if (result != highest) FAIL(NULL, "stress_rank: %d runs, expected %d", result, highest);
  MUST_BE(NULL, pd_op_get_info(operation, &info, NULL), PD_OK);
  if (info.impls != count)
    FAIL(NULL, "stress_rank: %zu are there, expected %zu", info.impls, count);
  for (size_t i = 0; i < plugin_count; i++) {
    if (!plugins[i].rank || !plugins[i].held) continue;
    MUST(NULL, call_plugin(NULL, &plugins[i], "call") == highest);
  }
}
