/* The macros of C, in C++. */
#include <pd_flags.h>
#include "export.h"

PD_DEFINE_bool(m_bool, true, "A bool");
PD_DEFINE_int32(m_int32, 6, "An int32", .min = 1, .max = 9, .category = "Numbers");
PD_DEFINE_uint64(m_uint64, UINT64_MAX, "A uint64");
PD_DEFINE_double(m_double, 0.5, "A double");
PD_DEFINE_string(m_string, "fast", "A string", .choices = "fast|best");
PD_IMPORT_int64(m_host, -2);
PD_DEFINE_SCOPED_int32(m_scoped, 5, "One per thread");
static int32_t one(int32_t n) { return n + 1; }
static int32_t ten(int32_t n) { return n + 10; }
PD_DEFINE_OP(m_step, int32_t, (int32_t), one, "Where to go from n");
PD_IMPL(m_step, ten, ten, .rank = 100);

EXPORT int values() {
  return FLAGS_m_bool && FLAGS_m_uint64 == UINT64_MAX && FLAGS_m_double == 0.5 &&
         FLAGS_m_scoped == 5;
}
EXPORT int int32() { return FLAGS_m_int32; }
EXPORT const char *string() { return FLAGS_m_string; }
EXPORT int host() { return static_cast<int>(FLAGS_m_host.get()); }
EXPORT int step() { return PD_CALL(m_step)(0); }
