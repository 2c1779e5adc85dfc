/* How a module joins on ELF systems: a note that the registry can find, and a
 * constructor that looks for a registry which is there already.
 *
 * Every source file that includes pd_flags.h leaves the same weak, hidden
 * record and functions; the linker keeps one of each for the module. */
#ifndef PD_FLAGS_JOIN_ELF_H
#define PD_FLAGS_JOIN_ELF_H

#include <elf.h>
#include <pd_flags/note_elf.h>

#define PD__WEAK __attribute__((weak, visibility("hidden")))

#if __SIZEOF_POINTER__ == 8
#define PD__POINTER ".quad "
typedef Elf64_Phdr pd__phdr;
typedef Elf64_Nhdr pd__nhdr;
#else
#define PD__POINTER ".long "
typedef Elf32_Phdr pd__phdr;
typedef Elf32_Nhdr pd__nhdr;
#endif

/* Run `function` before (.init_array) or after (.fini_array) all else in the
 * module: C++ objects and constructors without a priority have 65535, and user
 * code can't ask for less than 101. */
#define PD__RUN(array, function)                                               \
  __asm__(".ifndef .Lpd_run_" function "\n"                                    \
          ".pushsection ." array ".00099,\"aw\",%" array "\n"                  \
          ".balign " PD__STRING(__SIZEOF_POINTER__) "\n"                       \
          ".Lpd_run_" function ":\n"                                           \
          PD__POINTER function "\n"                                            \
          ".popsection\n"                                                      \
          ".endif\n")

PD__BEGIN_C

/* struct dl_phdr_info of <link.h>, which needs _GNU_SOURCE: its first fields,
 * fixed by the ABI of glibc, musl and the BSDs. */
typedef struct pd__image {
  uintptr_t base;
  const char *path;
  const pd__phdr *segments;
  uint16_t count;
} pd__image;

extern int pd__walk_images(int (*visit)(pd__image *, size_t, void *), void *context)
    __asm__("dl_iterate_phdr");

/* The linker's bounds of the section pd_flags; both 0 in a module without it. */
extern const pd_flag_def *const pd__defs_begin[]
    __asm__("__start_pd_flags") PD__WEAK;
extern const pd_flag_def *const pd__defs_end[]
    __asm__("__stop_pd_flags") PD__WEAK;

extern pd_module_record pd__module_v1 PD__WEAK;
extern void pd__module_enter_v1(void) PD__WEAK;
extern void pd__module_exit_v1(void) PD__WEAK;

__attribute__((used)) pd_module_record pd__module_v1 = {
    PD_ABI_VERSION, sizeof(pd_module_record), pd__defs_begin, pd__defs_end, NULL,
    NULL, NULL};

/* Whether one loaded segment of `image` holds `size` bytes at `address`. Notes
 * may be anybody's, and damaged: nothing that lies outside is touched. */
static inline int pd__holds(const pd__image *image, uintptr_t address, uint64_t size) {
  for (uint16_t i = 0; i < image->count; i++) {
    const pd__phdr *segment = &image->segments[i];
    uint64_t offset = address - (image->base + segment->p_vaddr);
    if (segment->p_type == PT_LOAD && offset <= segment->p_memsz &&
        size <= segment->p_memsz - offset) {
      return 1;
    }
  }
  return 0;
}

/* The host of the registry copy that the descriptor at `body` leads to, or NULL. */
static inline const pd_host *pd__host_at(const pd__image *image, const char *body) {
  uintptr_t at = (uintptr_t)body + (uintptr_t)(intptr_t)*(const int32_t *)(const void *)body;
  const pd_copy_record *copy = (const pd_copy_record *)at;
  if (at % sizeof(void *) || !pd__holds(image, at, sizeof *copy)) return NULL;
  if (copy->abi != PD_ABI_VERSION || copy->size < sizeof *copy) return NULL;
  return __atomic_load_n(&copy->host, __ATOMIC_ACQUIRE);
}

/* The same for the notes of a segment. */
static inline const pd_host *pd__host_in(const pd__image *image, const pd__phdr *segment) {
  uintptr_t start = image->base + segment->p_vaddr;
  uint64_t left = segment->p_memsz, padding = segment->p_align == 8 ? 7 : 3;
  const char *at = (const char *)start;
  if (segment->p_type != PT_NOTE || start % 4 || !pd__holds(image, start, left)) return NULL;
  while (left >= sizeof(pd__nhdr)) {
    const pd__nhdr *note = (const pd__nhdr *)(const void *)at;
    uint64_t head = (sizeof *note + (uint64_t)note->n_namesz + padding) & ~padding;
    uint64_t whole = (head + note->n_descsz + padding) & ~padding;
    if (head + note->n_descsz > left) return NULL;
    if (note->n_type == PD_NOTE_COPY && note->n_namesz == sizeof PD_NOTE_NAME &&
        note->n_descsz == 4 && !__builtin_memcmp(note + 1, PD_NOTE_NAME, sizeof PD_NOTE_NAME)) {
      const pd_host *host = pd__host_at(image, at + head);
      if (host) return host;
    }
    if (whole >= left) return NULL; /* the last one may lack its padding */
    at += whole;
    left -= whole;
  }
  return NULL;
}

static inline int pd__find_host(pd__image *image, size_t size, void *host) {
  (void)size;
  for (uint16_t i = 0; i < image->count; i++) {
    const pd_host *found = pd__host_in(image, &image->segments[i]);
    if (!found) continue;
    *(const pd_host **)host = found;
    return 1;
  }
  return 0;
}

/* The host of any image, or NULL. */
static inline const pd_host *pd__look_for_host(void) {
  const pd_host *host = NULL;
  pd__walk_images(pd__find_host, &host);
  return host;
}

/* Whether a static object of this module is at `address`. */
static inline int pd__visit_own(pd__image *image, size_t size, void *address) {
  (void)size;
  if (!pd__holds(image, (uintptr_t)&pd__module_v1, 1)) return 0;
  return pd__holds(image, (uintptr_t)address, 1) ? 1 : 2;
}
static inline int pd__is_own(void *address) {
  return pd__walk_images(pd__visit_own, address) == 1;
}

/* Loads are atomic as the host's stores are: no more than the loader's lock, which
 * sanitizers don't know of, keeps another thread's away. */
__attribute__((used)) void pd__module_enter_v1(void) {
  bool joined = __atomic_load_n(&pd__module_v1.state, __ATOMIC_ACQUIRE) != NULL;
  const pd_host *host = joined ? NULL : pd__look_for_host();
  if (host) host->module_join(&pd__module_v1);
}

__attribute__((used)) void pd__module_exit_v1(void) {
  const pd_host *host = __atomic_load_n(&pd__module_v1.host, __ATOMIC_ACQUIRE);
  if (host) host->module_leave(&pd__module_v1);
}

PD__END_C

/* gcc forgets to say it of symbols that only data refers to. Without it a module
 * that has no flags would be given the bounds of another one. */
__asm__(".weak __start_pd_flags, __stop_pd_flags\n"
        ".hidden __start_pd_flags, __stop_pd_flags\n");

PD__NOTE("1", "pd__module_v1");
PD__RUN("init_array", "pd__module_enter_v1");
PD__RUN("fini_array", "pd__module_exit_v1");

#endif /* PD_FLAGS_JOIN_ELF_H */
