/* Calls the operation that staged.c implements. */
#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

static int none(void) { return 0; }
PD_IMPORT_OP(stage, int, (void), none);

EXPORTED int staged_call(void);
int staged_call(void) { return PD_CALL(stage)(); }
