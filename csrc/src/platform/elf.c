/* Images on Linux, with glibc or musl. */
#define _GNU_SOURCE
#include "platform.h"
#include "posix.h"

#ifdef __ELF__

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pd_flags/image_elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- Images ---- */

/* How far a walk has come. glibc lists the images loaded at startup first: the program and its
 * libraries in the order of their dependencies, then the dynamic loader itself. It never unloads an
 * image listed before the loader, because the program depends on it; those from dlopen come later.
 * Nothing is known about images in a dlmopen namespace, or if no loader started the program. */
typedef enum progress { PD__AT_PROGRAM, PD__BEFORE_LOADER, PD__UNSURE } progress;

PD__READS_IMAGE static progress advance_walk_progress(progress before, const pd__image *image) {
  if (before == PD__UNSURE) return before;
  uintptr_t loader = getauxval(AT_BASE), program = getauxval(AT_PHDR);
  if (before == PD__AT_PROGRAM && (!loader || (uintptr_t)image->segments != program)) {
    return PD__UNSURE;
  }
  return image->base == loader ? PD__UNSURE : PD__BEFORE_LOADER;
}

/* Returns whether dlclose never unloads the image with these entries: it has DF_1_NODELETE, or the
 * C library is musl, which never unloads. */
PD__READS_IMAGE static bool is_never_unloaded(const ElfW(Dyn) *entry) {
#ifdef __GLIBC__
  while (entry->d_tag != DT_NULL && entry->d_tag != DT_FLAGS_1) entry++;
  return entry->d_tag == DT_FLAGS_1 && entry->d_un.d_val & DF_1_NODELETE;
#else
  (void)entry;
  return true;
#endif
}

typedef struct walk {
  pd__records kind;
  uintptr_t inside; /* 0 means every image */
  pd__visitor *visit;
  void *context;
  const pd__image *current;
  progress progress;
  pd__platform_image image; /* describes `current`; its path is NULL until that is done */
  char program[PATH_MAX];
} walk;

PD__READS_IMAGE static void describe_image(walk *run) {
  const pd__image *image = run->current;
  pd__platform_image *described = &run->image;
  *described = (pd__platform_image){.path = image->path, .low = UINTPTR_MAX};
  described->stays = run->progress == PD__BEFORE_LOADER;
  if (!*image->path) { /* the program itself */
    described->stays = true;
    ssize_t length = readlink("/proc/self/exe", run->program, PATH_MAX - 1);
    run->program[length > 0 ? length : 0] = '\0';
    described->path = run->program;
  }
  for (int i = 0; i < image->count; i++) {
    const pd__phdr *segment = &image->segments[i];
    uintptr_t low = image->base + segment->p_vaddr;
    if (segment->p_type == PT_DYNAMIC)
      described->stays |= is_never_unloaded((const ElfW(Dyn) *)low);
    if (segment->p_type != PT_LOAD) continue;
    if (low < described->low) described->low = low;
    if (low + segment->p_memsz > described->high) described->high = low + segment->p_memsz;
  }
}

static int visit_record(void *record, void *context) {
  walk *run = context;
  if (!run->image.path) describe_image(run);
  run->image.record = record;
  run->visit(&run->image, run->context);
  return 0;
}

/* Returns false if the image lies above the address: segments are in ascending order. The search
 * for the newest of many images, which mostly lies below the others, passes them quickly. */
PD__READS_IMAGE static bool can_image_contain_address(const pd__image *image, uintptr_t address) {
  int first = 0;
  while (first < image->count && image->segments[first].p_type != PT_LOAD) first++;
  return first < image->count && image->base + image->segments[first].p_vaddr <= address;
}

static int visit_image(pd__image *image, size_t size, void *context) {
  (void)size;
  walk *run = context;
  run->progress = advance_walk_progress(run->progress, image);
  if (run->inside && !can_image_contain_address(image, run->inside)) return 0;
  if (run->inside && !pd__holds(image, run->inside, 1, 0)) return 0;
  run->current = image;
  run->image.path = NULL;
  if (run->kind == PD__NO_RECORDS) {
    visit_record(NULL, run);
  } else {
    pd__each_record(image, run->kind, pd__record_min_size(run->kind), visit_record, run);
  }
  return run->inside != 0;
}

void pd__platform_visit_records(pd__records kind, const void *inside, pd__visitor *visit,
                                void *context) {
  walk run = {.kind = kind, .inside = (uintptr_t)inside, .visit = visit, .context = context};
  pd__fork_state fork_state;
  pd__posix_begin_image_walk(&fork_state);
  pd__walk_images(visit_image, &run);
  pd__posix_end_image_walk(&fork_state);
}

/* ---- Opening ---- */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE /* unknown: leave it to the loader */
#endif

/* The loader maps what the segments ask for. Touching a page past the end of the file would kill
 * the process. */
static bool is_elf_file_truncated(int fd, const ElfW(Ehdr) *header, uint64_t size) {
  for (unsigned i = 0; i < header->e_phnum; i++) {
    ElfW(Phdr) segment;
    off_t at = (off_t)(header->e_phoff + (uint64_t)i * sizeof segment);
    if (pread(fd, &segment, sizeof segment, at) != sizeof segment) return true;
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return true;
  }
  return false;
}

const char *pd__posix_find_library_fault(int fd, uint64_t size) {
  ElfW(Ehdr) header = {.e_type = ET_NONE};
  ssize_t length = pread(fd, &header, sizeof header, 0);
  if (length < EI_NIDENT || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return "is not a shared library";
  }
  if (length < (ssize_t)sizeof header) return "is cut short";
  if (header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      (OUR_MACHINE != EM_NONE && header.e_machine != OUR_MACHINE)) {
    return "was built for another architecture";
  }
  if (header.e_type != ET_DYN) return "is a program or an object file, expected a shared library";
  return is_elf_file_truncated(fd, &header, size) ? "is cut short" : NULL;
}

PD__READS_IMAGE const void *pd__posix_find_library_address(void *handle) {
  struct link_map *map;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_ld : NULL;
}

/* ---- Environment ---- */

const char *pd__platform_getenv(const char *variable) { return secure_getenv(variable); }

char *const *pd__posix_get_environment(void) { return getauxval(AT_SECURE) ? NULL : environ; }

#endif /* __ELF__ */
