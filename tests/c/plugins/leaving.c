/* A flag that this library assigns to, just before it leaves. */
#include <pd_flags.h>

PD_DEFINE_int32(leaving, 1, "Assigned at the end", .assignable = true);
PD_DEFINE_int32(leaving_alone, 1, "Nobody else has it", .assignable = true);

static void assign(const void *cell, int32_t value) {
  __atomic_store_n((int32_t *)(uintptr_t)cell, value, __ATOMIC_RELAXED);
}

/* What the last assignment gives; 0: there is none. */
__attribute__((visibility("default"))) int32_t leaving_value;
__attribute__((destructor)) static void leave(void) {
  if (leaving_value) assign((const void *)&FLAGS_leaving, leaving_value);
  if (leaving_value) assign((const void *)&FLAGS_leaving_alone, leaving_value);
}
