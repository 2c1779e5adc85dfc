/* Its constructor and its destructor set flags of the program, and see what has come of it
 * while they run. */
#define PD_HEADER_ONLY
#include <pd_flags.h>

PD_DEFINE_int64(acting, 1, "What waits for a validator");

__attribute__((visibility("default"))) int64_t acting_seen = -1;
__attribute__((visibility("default"))) pd_status acting_status;
__attribute__((visibility("default"))) pd_error acting_error;

__attribute__((constructor)) static void arrive(void) {
  pd_flag *seen;
  acting_status = pd_flag_set_by_name("outer", "5", &acting_error);
  if (pd_flag_find("seen", &seen, NULL) == PD_OK) pd_flag_get_int64(seen, &acting_seen, NULL);
}

__attribute__((destructor)) static void leave(void) {
  pd_flag *seen, *in_destructor;
  int64_t value;
  if (pd_flag_set_by_name("outer", "9", NULL) != PD_OK) return;
  if (pd_flag_find("seen", &seen, NULL) != PD_OK) return;
  if (pd_flag_get_int64(seen, &value, NULL) != PD_OK) return;
  if (pd_flag_find("in_destructor", &in_destructor, NULL) != PD_OK) return;
  pd_flag_set_int64(in_destructor, value, NULL);
}
