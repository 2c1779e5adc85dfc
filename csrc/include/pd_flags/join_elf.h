/* How a module joins on ELF systems: a note that the registry can find, and a
 * constructor that looks for a registry that is already there.
 *
 * Every source file that includes pd_flags.h emits the same weak, hidden
 * record and functions; the linker keeps one of each for the module. */
#ifndef PD_FLAGS_JOIN_ELF_H
#define PD_FLAGS_JOIN_ELF_H

#include <pd_flags/image_elf.h>

/* Of equal weak symbols the linker keeps one, and one that is only declared is 0 if no file defines
 * it. Hidden: other modules have their own. */
#define PD__WEAK __attribute__((weak, visibility("hidden")))

/* For C++20 modules (PD__MERGED), the record and the functions are inline, and the assembly is in a
 * function to which pd__emitted refers. */
#ifdef PD__MERGED
#define PD__ONE inline __attribute__((used))
#define PD__ASSEMBLY_INSIDE PD__ASSEMBLY;
#else
#define PD__ONE __attribute__((used))
#define PD__ASSEMBLY_INSIDE
#endif

#if __SIZEOF_POINTER__ == 8
#define PD__POINTER ".quad "
#else
#define PD__POINTER ".long "
#endif

/* Run `function` before (.init_array) or after (.fini_array) everything else in the module: C++
 * objects and constructors without a priority have 65535, and user code can't request less than
 * 101. In assembly, because compilers warn about 99 in an attribute. */
#define PD__RUN(array, priority, function)                                     \
  __asm__(".ifndef .Lpd_run_" function "\n"                                    \
          ".pushsection ." array "." priority ",\"aw\",%" array "\n"           \
          ".balign " PD__STRING(__SIZEOF_POINTER__) "\n"                       \
          ".Lpd_run_" function ":\n"                                           \
          PD__POINTER function "\n"                                            \
          ".popsection\n"                                                      \
          ".endif\n")

/* gcc doesn't mark symbols hidden that only data refers to. Without the first part, a module that
 * has no flags would get the bounds of another module. */
#define PD__ASSEMBLY                                                           \
  __asm__(".weak __start_pd_flags, __stop_pd_flags\n"                          \
          ".hidden __start_pd_flags, __stop_pd_flags\n");                      \
  PD__NOTE("1", "pd__module_v1");                                              \
  PD__RUN("init_array", "00099", "pd__module_enter_v1");                       \
  PD__RUN("fini_array", "00099", "pd__module_exit_v1")

PD__BEGIN_C

/* The linker's bounds of the section pd_flags; both 0 in a module without it. */
extern const pd_flag_def *const pd__defs_begin[]
    __asm__("__start_pd_flags") PD__WEAK;
extern const pd_flag_def *const pd__defs_end[]
    __asm__("__stop_pd_flags") PD__WEAK;

extern pd_module_record pd__module_v1 PD__WEAK;
extern void pd__module_enter_v1(void) PD__WEAK;
extern void pd__module_exit_v1(void) PD__WEAK;

PD__ONE pd_module_record pd__module_v1 = {
    PD_ABI_VERSION, sizeof(pd_module_record), pd__defs_begin, pd__defs_end, NULL,
    NULL, NULL};

PD__HELPER int pd__take_host(void *record, void *host) {
  const pd_copy_record *copy = (const pd_copy_record *)record;
  if (copy->abi != PD_ABI_VERSION || copy->size < PD_COPY_RECORD_LEAST) return 0;
  *(const pd_host **)host = __atomic_load_n(&copy->host, __ATOMIC_ACQUIRE);
  return *(const pd_host **)host != NULL;
}

PD__HELPER int pd__find_host(pd__image *image, size_t size, void *host) {
  (void)size;
  return pd__each_record(image, PD_NOTE_COPY, PD_COPY_RECORD_LEAST, pd__take_host, host);
}

/* The host of any image, or NULL. */
PD__HELPER const pd_host *pd__look_for_host(void) {
  const pd_host *host = NULL;
  pd__walk_images(pd__find_host, &host);
  return host;
}

/* Returns whether `address` is in static memory of this module. */
PD__HELPER int pd__visit_own(pd__image *image, size_t size, void *address) {
  (void)size;
  if (!pd__holds(image, (uintptr_t)&pd__module_v1, 1, 0)) return 0;
  return pd__holds(image, (uintptr_t)address, 1, 0) ? 1 : 2;
}
PD__HELPER int pd__is_own(void *address) {
  return pd__walk_images(pd__visit_own, address) == 1;
}

/* Loads are atomic, as the host's stores are: only the loader's lock, which sanitizers
 * don't know, keeps other threads away. */
PD__ONE void pd__module_enter_v1(void) {
  PD__ASSEMBLY_INSIDE
  bool joined = __atomic_load_n(&pd__module_v1.state, __ATOMIC_ACQUIRE) != NULL;
  const pd_host *host = joined ? NULL : pd__look_for_host();
  if (host) host->module_join(&pd__module_v1);
}

PD__ONE void pd__module_exit_v1(void) {
  const pd_host *host = __atomic_load_n(&pd__module_v1.host, __ATOMIC_ACQUIRE);
  if (host) host->module_leave(&pd__module_v1);
}

PD__END_C

#ifdef PD__MERGED
static void (*const pd__emitted[])(void)
    __attribute__((used)) = {pd__module_enter_v1, pd__module_exit_v1};
#else
PD__ASSEMBLY;
#endif

#endif /* PD_FLAGS_JOIN_ELF_H */
