/* How a module joins on macOS: a note that the registry can find, and a
 * constructor that looks for a registry that is already there.
 *
 * Every source file that includes pd_flags.h emits the same weak, hidden
 * record; the linker keeps one for the module. Each file has its own copy of the
 * functions: however often they are entered, the module joins once. */
#ifndef PD_FLAGS_JOIN_MACHO_H
#define PD_FLAGS_JOIN_MACHO_H

#include <pd_flags/note_macho.h>

PD__BEGIN_C

/* The linker's bounds of the list, and one entry, so that the list exists in modules
 * without a flag. */
extern const pd_flag_def *const pd__defs_begin[]
    __asm__("section$start$__DATA$__pd_flag_defs");
extern const pd_flag_def *const pd__defs_end[]
    __asm__("section$end$__DATA$__pd_flag_defs");
static const void *pd__listed_none PD__LISTED = NULL;

/* The C library's, which runs exit functions of an image when it is unloaded, and the address by
 * which it knows this image. */
extern int pd__at_exit(void (*function)(void *), void *argument,
                       void *image) __asm__("___cxa_atexit");
extern char pd__this_image __asm__("___dso_handle") PD__HIDDEN;

/* The linker keeps one of each for the module; `inline` means the same to it. */
#ifdef PD__MERGED
#define PD__ONCE inline __attribute__((used)) PD__HIDDEN
#else
#define PD__ONCE __attribute__((weak, used)) PD__HIDDEN
#endif
extern pd_module_record pd__module_v1;
extern uint32_t pd__module_entered_v1;
PD__ONCE pd_module_record pd__module_v1 = {
    PD_ABI_VERSION, sizeof(pd_module_record), pd__defs_begin, pd__defs_end, NULL,
    NULL, NULL};
PD__ONCE uint32_t pd__module_entered_v1 = 0;

PD__NOTE(PD_NOTE_MODULE, pd__module_v1);

PD__HELPER const pd_host *pd__host_in(const void *image) {
  const pd__note *note = NULL;
  while ((note = pd__next_note(image, note, PD_NOTE_COPY, PD_COPY_RECORD_LEAST))) {
    const pd_copy_record *copy = (const pd_copy_record *)note->record;
    if (copy->abi != PD_ABI_VERSION || copy->size < PD_COPY_RECORD_LEAST) continue;
    const pd_host *host = __atomic_load_n(&copy->host, __ATOMIC_ACQUIRE);
    if (host) return host;
  }
  return NULL;
}

/* The host of any image, or NULL. */
PD__HELPER const pd_host *pd__look_for_host(void) {
  const pd_host *host = NULL;
  for (uint32_t i = pd__image_count(); i-- > 0 && !host;) {
    const void *image = pd__image_at(i);
    if (image) host = pd__host_in(image);
  }
  return host;
}

/* Returns whether `address` is in static memory of this module. */
PD__HELPER int pd__is_own(void *address) {
  for (uint32_t i = pd__image_count(); i-- > 0;) {
    const void *image = pd__image_at(i);
    if (image && pd__holds(image, &pd__module_v1, 1)) return pd__holds(image, address, 1);
  }
  return 0;
}

PD__HELPER void pd__module_exit(void *unused) {
  (void)unused;
  const pd_host *host = __atomic_load_n(&pd__module_v1.host, __ATOMIC_ACQUIRE);
  if (host) host->module_leave(&pd__module_v1);
}

/* Constructors run in the order of the source files on the linker's command line,
 * and by priority within a file. So a file's flags come after its own joining, but
 * a file without the header may run earlier if it is linked first. Exit functions
 * run in reverse order, so the first file to enter leaves last. */
__attribute__((constructor(101), used)) PD__HELPER void pd__module_enter(void) {
  const pd_host *host = NULL;
  if (pd__module_entered_v1) return;
  pd__module_entered_v1 = 1;
  if (pd__at_exit(pd__module_exit, NULL, &pd__this_image) != 0) return;
  if (!__atomic_load_n(&pd__module_v1.state, __ATOMIC_ACQUIRE)) host = pd__look_for_host();
  if (host) host->module_join(&pd__module_v1);
}
#ifdef PD__MERGED
static void (*const pd__emitted)(void) __attribute__((used)) = pd__module_enter;
#endif

PD__END_C

#endif /* PD_FLAGS_JOIN_MACHO_H */
