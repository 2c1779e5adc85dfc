/* Imports impl.pow as a number. */
#include <pd_flags.h>

static int32_t cell;
static const pd_flag_def pd__def_own = {.size = sizeof(pd_flag_def),
                                        .type = PD_TYPE_int32,
                                        .kind = PD_KIND_IMPORT,
                                        .name = "impl.pow",
                                        .cell = &cell};
PD__LIST(own);
PD_DEFINE_bool(op_flag_import_flag, false, "Lets the module have a record");
