/* Flags of ours with the names of glog's. */
#include <pd_flags.h>

PD_DEFINE_int32(v, 0, "Verbosity");
PD_DEFINE_bool(logtostderr, false, "Log to the terminal");

__attribute__((visibility("default"))) int a_verbosity(void);
__attribute__((visibility("default"))) int a_verbosity(void) { return FLAGS_v; }
