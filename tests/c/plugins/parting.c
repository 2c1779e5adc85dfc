/* Its destructor calls the function whose address the program gave it, by a flag. */
#include <pd_flags.h>

PD_DEFINE_int32(parting_level, 6, "Read and set at exit");
PD_DEFINE_uint64(parting_call, 0, "Address of what to call");

__attribute__((destructor)) static void part(void) {
  uint64_t call = FLAGS_parting_call;
  void (*function)(void);
  __builtin_memcpy(&function, &call, sizeof function);
  if (function) function();
}
