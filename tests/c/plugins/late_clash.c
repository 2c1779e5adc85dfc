/* Its constructor defines a flag that the program has defined otherwise. It stays in the process.
 * Built with: -Wl,-z,nodelete
 */
#include <pd_flags.h>
#include <pd_flags/late.h>

PD_DEFINE_int32(late_clash_sound, 1, "Sound");

static const pd_flag_def clash = {
    .size = sizeof clash, .type = PD_TYPE_bool, .name = "late_clash", .help = "An int64 elsewhere"};

__attribute__((constructor)) static void define_late(void) {
  static pd_late_def late = {.size = sizeof late, .def = &clash};
  pd_late_define(&late, NULL);
}
