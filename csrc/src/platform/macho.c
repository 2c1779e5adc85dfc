/* Images on macOS. */
#include "platform.h"

#ifdef __APPLE__

#include <crt_externs.h>
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/fat.h>
#include <mach-o/loader.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "posix.h"

typedef struct mach_header_64 header;

/* Fills in the addresses of an image: from its header, at the start of the segment __TEXT, to the
 * end of its last segment. Images in the shared cache share all other segments. */
static void describe_image(const header *at, const char *path, pd__platform_image *image) {
  uint64_t text = 0, end = 0;
  const char *command = (const char *)(at + 1);
  for (uint32_t i = 0; i < at->ncmds; i++) {
    const struct segment_command_64 *segment = (const void *)command;
    command += segment->cmdsize;
    if (segment->cmd != LC_SEGMENT_64 || segment->initprot == 0) continue;
    bool first = strncmp(segment->segname, SEG_TEXT, sizeof segment->segname) == 0;
    if (first) text = segment->vmaddr;
    if (!first && (at->flags & MH_DYLIB_IN_CACHE)) continue;
    if (segment->vmaddr + segment->vmsize > end) end = segment->vmaddr + segment->vmsize;
  }
  *image = (pd__platform_image){.path = path ? path : "",
                                .low = (uintptr_t)at,
                                .high = (uintptr_t)at + (uintptr_t)(end - text)};
}

static void visit_image(const header *at, const char *path, pd__records kind, pd__visitor *visit,
                        void *context) {
  pd__platform_image image;
  bool of_system = at->flags & MH_DYLIB_IN_CACHE; /* they have no records */
  if (of_system && kind != PD__NO_RECORDS) return;
  describe_image(at, path, &image);
  if (kind == PD__NO_RECORDS) visit(&image, context);
  const pd__note *note = NULL;
  while (kind && (note = pd__next_note(at, note, (uint32_t)kind, pd__record_min_size(kind)))) {
    image.record = note->record;
    visit(&image, context);
  }
}

void pd__platform_visit_records(pd__records kind, const void *inside, pd__visitor *visit,
                                void *context) {
  Dl_info wanted = {.dli_fbase = NULL};
  if (inside && !dladdr(inside, &wanted)) return;
  pd__fork_state fork_state;
  pd__posix_begin_image_walk(&fork_state);
  for (uint32_t i = _dyld_image_count(); i-- > 0;) {
    const void *at = _dyld_get_image_header(i);
    if (!at || (inside && at != wanted.dli_fbase)) continue;
    visit_image(at, _dyld_get_image_name(i), kind, visit, context);
  }
  pd__posix_end_image_walk(&fork_state);
}

const char *pd__posix_find_library_fault(int fd, uint64_t size) {
  header start = {.magic = 0};
  (void)size;
  ssize_t length = pread(fd, &start, sizeof start, 0);
  if (length < (ssize_t)sizeof start.magic) return "is not a shared library";
  if (start.magic == FAT_CIGAM || start.magic == FAT_CIGAM_64) return NULL; /* a universal file */
  if (start.magic != MH_MAGIC_64) return "is not a shared library";
  if (length < (ssize_t)sizeof start) return "is cut short";
  bool shared = start.filetype == MH_DYLIB || start.filetype == MH_BUNDLE;
  return shared ? NULL : "is a program or an object file, expected a shared library";
}

/* There is no way to ask a handle for its image, but opening the same image again returns the same
 * handle. The loader uses its low two bits. */
const void *pd__posix_find_library_address(void *handle) {
  for (uint32_t i = _dyld_image_count(); i-- > 0;) {
    const char *path = _dyld_get_image_name(i);
    void *again = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (again) dlclose(again);
    if (again && (uintptr_t)again >> 2 == (uintptr_t)handle >> 2) return _dyld_get_image_header(i);
  }
  return NULL;
}

const char *pd__platform_getenv(const char *variable) {
  return issetugid() ? NULL : getenv(variable);
}

char *const *pd__posix_get_environment(void) { return issetugid() ? NULL : *_NSGetEnviron(); }

#endif /* __APPLE__ */
