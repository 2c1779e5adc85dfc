/* Many questions to implementations, with the first, the second, ... allocation failing.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free $LIBRARY
 */
#include "joined.h"

#include "failing.h"

enum { MANY = 60 };

typedef void (*any_function)(void);
static double native(double x) { return x; }
static const char *is_usable(void) { return "no luck"; }

static char names[MANY][16];
static pd_op_signature signatures[MANY];
static any_function slots[MANY];
static pd_op_def defs[MANY];

/* A refusal is also a warning. */
static void ignore_warning(const char *message, pd_warning kind, void *context) {
  (void)message, (void)kind, (void)context;
}

/* Operations of the record, each of which asks whether it can run here. */
static void prepare_record(void) {
  get_host();
  leave_record();
  CHECK_OK(pd_warning_handle(ignore_warning, NULL, &err));
  for (uint32_t i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof *names, "op%u", i);
    signatures[i] =
        (pd_op_signature){names[i], "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
    defs[i] = (pd_op_def){.size = sizeof(pd_op_def),
                          .line = i,
                          .kind = PD_KIND_OP,
                          .name = "native",
                          .file = "ops.c",
                          .signature = &signatures[i],
                          .slot = &slots[i],
                          .choice = {(any_function)native, 0, is_usable}};
    joined[i] = (const pd_flag_def *)(const void *)&defs[i];
  }
  pd__module_v1.defs = joined;
  pd__module_v1.defs_end = joined + MANY;
}

static void check_joined(void) {
  for (int i = 0; i < MANY; i++) CHECK(slots[i] == (any_function)native);
  CHECK(is_defined("impl.op0") && is_defined("impl.op59"));
}

static pd_status join_record(void) {
  get_host()->module_join(&pd__module_v1);
  left = -1;
  pd_status status = pd__module_v1.host ? read_join_errors() : PD_ERR_MEMORY;
  err = (pd_error){.status = PD_ERR_MEMORY, .message = "out of memory"}; /* also if it is listed */
  if (status != PD_OK) leave_record();
  return status;
}

static void check_not_joined(void) { CHECK(!is_defined("impl.op0") && !is_defined("impl.op59")); }

TEST(a_record_of_many_operations_joins_or_not) {
  run(&(scenario){prepare_record, join_record, check_not_joined, check_joined}, 8);
}
