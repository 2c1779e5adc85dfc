/* A flag with many names. */
#include <pd_flags.h>

PD_DEFINE_bool(aliased, false, "Has other names", .aliases = "a|bc|def|ghij|klmno",
               .old_names = "z|yx|wvu|tsrq");
PD_DEFINE_bool(unaliased, false, "Has none", .aliases = "", .old_names = "");
