/* Warnings that wait for a handler. */
#include "check.h"

static char received[2][1020];
static int received_count;
static void receive_warning(const char *message, pd_warning kind, void *context) {
  CHECK(kind == PD_WARNING_GENERAL && !context);
  snprintf(received[received_count++ > 0], sizeof *received, "%s", message);
}

static void report_warnings(int count) {
  char message[32];
  for (int i = 0; i < count; i++) {
    snprintf(message, sizeof message, "warning %d", i);
    CHECK_OK(pd_warning_report(message, &err));
  }
}

TEST(warnings_that_no_handler_takes_are_dropped_beyond_a_limit_which_the_handler_gets_to_know) {
  report_warnings(PD_WARNINGS_KEPT);
  CHECK_OK(pd_warning_handle(receive_warning, NULL, &err));
  CHECK(received_count == PD_WARNINGS_KEPT);
  CHECK_STR(received[0], "warning 0");
  CHECK_OK(pd_warning_handle(NULL, NULL, &err));
  for (int more = 1; more <= 1000; more += 999) {
    received_count = 0;
    report_warnings(PD_WARNINGS_KEPT + more);
    CHECK_OK(pd_warning_handle(receive_warning, NULL, &err));
    CHECK(received_count == PD_WARNINGS_KEPT + 1);
    CHECK_STR(received[0], more == 1 ? "1 earlier warning was dropped, as no handler was set"
                                     : "1000 earlier warnings were dropped, as no handler was set");
    CHECK_STR(received[1], more == 1 ? "warning 256" : "warning 1255");
    CHECK_OK(pd_warning_handle(NULL, NULL, &err));
  }
}
