/* With shifting_narrow.c and shifting_text.c: one flag by three definitions, in libraries of
 * one layout, so that the next one comes to lie where the last one was. */
#include <pd_flags.h>

#if defined(SHIFTING_TEXT)
PD_DEFINE_string(shifting, "short", "It changes", .choices = "short|long");
#elif defined(SHIFTING_NARROW)
PD_DEFINE_int64(shifting, 1, "It changes", .max = 10);
#else
PD_DEFINE_int64(shifting, 0, "It changes", .max = 1000);
#endif

#ifdef SHIFTING_TEXT
__attribute__((visibility("default"))) const char *shifting_text(void);
const char *shifting_text(void) { return FLAGS_shifting; }
#else
__attribute__((visibility("default"))) int64_t shifting_number(void);
int64_t shifting_number(void) { return FLAGS_shifting; }
#endif
