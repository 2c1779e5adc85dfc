/* Linux with glibc or musl: images. */
#define _GNU_SOURCE
#include "platform.h"
#include "posix.h"

#ifdef __ELF__

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Images ---- */

/* Whether the image is linked so that dlclose doesn't unload it. musl unloads none. */
static bool never_leaves(const struct dl_phdr_info *info) {
#ifdef __GLIBC__
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_DYNAMIC) continue;
    const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(info->dlpi_addr + segment->p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_FLAGS_1) return entry->d_un.d_val & DF_1_NODELETE;
    }
  }
  return false;
#else
  (void)info;
  return true;
#endif
}

static void image_of(const struct dl_phdr_info *info, char program[PATH_MAX],
                     pd__platform_image *image) {
  image->path = info->dlpi_name;
  image->stays = !*image->path || never_leaves(info);
  if (!*image->path) { /* the program itself */
    ssize_t length = readlink("/proc/self/exe", program, PATH_MAX - 1);
    program[length > 0 ? length : 0] = '\0';
    image->path = program;
  }
  image->low = UINTPTR_MAX;
  image->high = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD) continue;
    uintptr_t low = info->dlpi_addr + segment->p_vaddr;
    if (low < image->low) image->low = low;
    if (low + segment->p_memsz > image->high) image->high = low + segment->p_memsz;
  }
}

/* Whether one loaded segment with `flags` holds `size` bytes at `address`. Notes
 * may be anybody's, and damaged: nothing that lies outside is touched. */
static bool holds(const struct dl_phdr_info *info, uintptr_t address, uint64_t size,
                  uint32_t flags) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uint64_t offset = address - (info->dlpi_addr + segment->p_vaddr);
    if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
        offset <= segment->p_memsz && size <= segment->p_memsz - offset) {
      return true;
    }
  }
  return false;
}

/* A walk over records, or to one image. */
typedef struct walk {
  pd__records kind;
  uintptr_t inside; /* 0: every image */
  pd__visitor *visit;
  void *context;
  pd__platform_image **found; /* instead: the image alone */
} walk;

/* The record that a note leads to, or NULL for other notes. */
static void *record_of(const walk *run, const struct dl_phdr_info *info, const ElfW(Nhdr) *note,
                       const char *body) {
  if (note->n_type != (ElfW(Word))run->kind || note->n_descsz != 4 ||
      note->n_namesz != sizeof PD_NOTE_NAME ||
      memcmp(note + 1, PD_NOTE_NAME, sizeof PD_NOTE_NAME) != 0) {
    return NULL;
  }
  uintptr_t at = (uintptr_t)body + (uintptr_t)(intptr_t) * (const int32_t *)body;
  bool module = run->kind == PD__RECORDS_OF_MODULES;
  uint64_t size = module ? PD__SMALLEST_RECORD : sizeof(pd_copy_record);
  bool sound = at % sizeof(void *) == 0 && holds(info, at, size, PF_R | PF_W);
  return sound ? (void *)at : NULL;
}

static void visit_notes(const walk *run, const struct dl_phdr_info *info, const ElfW(Phdr) *segment,
                        const pd__platform_image *image) {
  uintptr_t start = info->dlpi_addr + segment->p_vaddr;
  uint64_t left = segment->p_memsz, pad = segment->p_align == 8 ? 7 : 3;
  const char *at = (const char *)start;
  if (start % 4 || !holds(info, start, left, PF_R)) return;
  while (left >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
    uint64_t head = (sizeof *note + (uint64_t)note->n_namesz + pad) & ~pad;
    uint64_t whole = (head + note->n_descsz + pad) & ~pad;
    if (head + note->n_descsz > left) return;
    void *record = record_of(run, info, note, at + head);
    if (record) run->visit(record, image, run->context);
    if (whole >= left) return; /* the last one may lack its padding */
    at += whole;
    left -= whole;
  }
}

static int visit_image(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  const walk *run = context;
  if ((run->inside || run->found) && !holds(info, run->inside, 1, 0)) return 0;
  char program[PATH_MAX];
  pd__platform_image image = {.path = NULL};
  if (run->found) {
    image_of(info, program, &image);
    *run->found = pd__platform_copy_image(&image);
    return 1;
  }
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_NOTE) continue;
    if (!image.path) image_of(info, program, &image);
    visit_notes(run, info, segment, &image);
  }
  return run->inside != 0;
}

static void walk_images(walk run) {
  pd__posix_walk_begin();
  dl_iterate_phdr(visit_image, &run);
  pd__posix_walk_end();
}

void pd__platform_visit(pd__records kind, const void *inside, pd__visitor *visit, void *context) {
  walk_images(
      (walk){.kind = kind, .inside = (uintptr_t)inside, .visit = visit, .context = context});
}

pd__platform_image *pd__platform_image_at(const void *address) {
  pd__platform_image *found = NULL;
  walk_images((walk){.inside = (uintptr_t)address, .found = &found});
  return found;
}

/* ---- Opening ---- */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE /* unknown: the loader decides */
#endif

/* The loader maps what the segments ask for, and the process would die when it
 * touches what the file doesn't have. */
static bool cut_short(int fd, const ElfW(Ehdr) *header, uint64_t size) {
  for (unsigned i = 0; i < header->e_phnum; i++) {
    ElfW(Phdr) segment;
    off_t at = (off_t)(header->e_phoff + (uint64_t)i * sizeof segment);
    if (pread(fd, &segment, sizeof segment, at) != sizeof segment) return true;
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return true;
  }
  return false;
}

const char *pd__posix_complaint(int fd, uint64_t size) {
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
  return cut_short(fd, &header, size) ? "is cut short" : NULL;
}

/* The loader wrote the map under its own lock, which ThreadSanitizer doesn't see. */
__attribute__((no_sanitize("thread"))) const void *pd__posix_inside(void *handle) {
  struct link_map *map;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_ld : NULL;
}

/* ---- Environment ---- */

const char *pd__platform_getenv(const char *variable) { return secure_getenv(variable); }

#endif /* __ELF__ */
