/* An operation by a record of an older header, and an implementation by one of a newer header. */
#include <pd_flags.h>
#include <stddef.h>

typedef void generic(void);
static double native(double x) { return x; }
static generic *slot = (generic *)native;
static const pd_op_signature signature = {"sum", "double (double)", {13, 13}};
static const struct {
  pd_op_def def;
  void *unknown[2];
} records[] = {{{.size = offsetof(pd_op_def, about),
                 .kind = PD_KIND_OP,
                 .name = "native",
                 .signature = &signature,
                 .slot = &slot,
                 .choice = {(generic *)native, 0, NULL},
                 .about = {"not there", "nor this"}},
                {NULL, NULL}},
               {{.size = sizeof(pd_op_def) + 2 * sizeof(void *),
                 .kind = PD_KIND_IMPL,
                 .name = "newer",
                 .signature = &signature,
                 .choice = {(generic *)native, 1, NULL}},
                {&slot, NULL}}};
#define pd__def_older records[0]
#define pd__def_newer records[1]
PD__LIST(older);
PD__LIST(newer);
PD_DEFINE_bool(op_sizes_flag, false, "Lets the module have a record");
