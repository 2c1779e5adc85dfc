/* How a module joins on Windows: a note that the registry can find, and a
 * constructor that looks for a registry that is already there.
 *
 * Every source file that includes pd_flags.h emits the same record; the linker
 * keeps one for the module. Each file has its own copy of the functions: however
 * often they are entered, the module joins once. */
#ifndef PD_FLAGS_JOIN_PE_H
#define PD_FLAGS_JOIN_PE_H

#include <pd_flags/image_pe.h>

PD__BEGIN_C

/* The C library's, without <stdlib.h>. Functions that a DLL registers run when it is unloaded. */
extern int pd__at_exit(void (*function)(void)) __asm__("atexit");

/* The bounds of the list of definitions. */
static const void *const pd__defs_begin PD__SECTION("d0") = NULL;
static const void *const pd__defs_end PD__SECTION("d2") = NULL;

/* The linker keeps one of each for the module; `inline` means the same to it. */
#ifdef PD__MERGED
#define PD__ONCE inline
#else
#define PD__ONCE __attribute__((selectany))
#endif
PD__ONCE pd_module_record pd__module_v1 = {
    PD_ABI_VERSION, sizeof(pd_module_record),
    (const pd_flag_def *const *)(const void *)&pd__defs_begin,
    (const pd_flag_def *const *)(const void *)&pd__defs_end, NULL, NULL, NULL};
PD__ONCE uint32_t pd__module_entered_v1 = 0;

PD__NOTE(PD_NOTE_MODULE, pd__module_v1);

static inline void pd__find_host(const pd__image *image, void *host, unsigned char *stop) {
  const pd__note *note = NULL;
  while (!*stop && (note = pd__next_note(image, note, PD_NOTE_COPY, PD_COPY_RECORD_LEAST))) {
    const pd_copy_record *copy = (const pd_copy_record *)note->record;
    if (copy->abi != PD_ABI_VERSION || copy->size < PD_COPY_RECORD_LEAST) continue;
    *(const pd_host **)host = __atomic_load_n(&copy->host, __ATOMIC_ACQUIRE);
    *stop = *(const pd_host **)host != NULL;
  }
}

/* The host of any image, or NULL. */
static inline const pd_host *pd__look_for_host(void) {
  const pd_host *host = NULL;
  pd__each_image(pd__find_host, &host);
  return host;
}

/* Returns whether `address` is in static memory of this module. */
static inline void pd__visit_own(const pd__image *image, void *address, unsigned char *stop) {
  void **sought = (void **)address;
  if (!pd__holds(image, &pd__module_v1, 1, 0)) return;
  if (!pd__holds(image, *sought, 1, 0)) *sought = NULL;
  *stop = 1;
}
static inline int pd__is_own(void *address) {
  pd__each_image(pd__visit_own, &address);
  return address != NULL;
}

static void pd__module_exit(void) {
  const pd_host *host = __atomic_load_n(&pd__module_v1.host, __ATOMIC_ACQUIRE);
  if (host) host->module_leave(&pd__module_v1);
}

/* Exit functions run in reverse order, so the first to register leaves last: flags
 * work in all destructors. A module that can't leave doesn't join. */
static void pd__module_enter(void) {
  const pd_host *host = NULL;
  if (pd__module_entered_v1) return;
  pd__module_entered_v1 = 1;
  if (pd__at_exit(pd__module_exit) != 0) return;
  if (!__atomic_load_n(&pd__module_v1.state, __ATOMIC_ACQUIRE)) host = pd__look_for_host();
  if (host) host->module_join(&pd__module_v1);
}
PD__START("D", pd__module_enter);

PD__END_C

#endif /* PD_FLAGS_JOIN_PE_H */
