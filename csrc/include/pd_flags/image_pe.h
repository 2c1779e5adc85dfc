/* The loaded images of a Windows process, and what their sections hold. Does without
 * <windows.h>, whose macros a plugin may not want. */
#ifndef PD_FLAGS_IMAGE_PE_H
#define PD_FLAGS_IMAGE_PE_H

#include <pd_flags/note_pe.h>

PD__BEGIN_C

/* The loader's LDR_DATA_TABLE_ENTRY: its first fields, which all 64-bit Windows
 * have in common. */
typedef struct pd__image {
  void *links[6];
  const char *base;
  void *entry;
  uint32_t size; /* of the image in memory */
  uint32_t unused;
  uint16_t path_size; /* in bytes, without a NUL */
  uint16_t path_room;
  uint32_t gap_too;
  const wchar_t *path; /* in full */
} pd__image;

/* IMAGE_SECTION_HEADER. */
typedef struct pd__section {
  char name[8];
  uint32_t size; /* in memory */
  uint32_t offset;
  uint32_t file[5];
  uint32_t flags; /* 0x80000000: may be written */
} pd__section;

#define PD__WRITABLE UINT32_C(0x80000000)

/* LdrEnumerateLoadedModules of ntdll. It keeps other threads from loading and
 * unloading meanwhile, and works in constructors. `stop` ends the walk. */
typedef void pd__visit_image(const pd__image *image, void *context, unsigned char *stop);
typedef long pd__walk_images(uint32_t zero, pd__visit_image *visit, void *context);
typedef void (*pd__procedure)(void);
/* Functions of the system, declared with our types under our names. */
extern void *pd__get_module(const char *name) __asm__("GetModuleHandleA");
extern pd__procedure pd__get_procedure(void *module, const char *name) __asm__("GetProcAddress");

static inline void pd__each_image(pd__visit_image *visit, void *context) {
  pd__procedure found = pd__get_procedure(pd__get_module("ntdll.dll"), "LdrEnumerateLoadedModules");
  if (found) ((pd__walk_images *)found)(0, visit, context);
}

/* The sections of an image that the loader has accepted. */
static inline const pd__section *pd__sections(const pd__image *image, unsigned *count) {
  const char *header = image->base + *(const uint32_t *)(const void *)(image->base + 0x3c);
  *count = *(const uint16_t *)(const void *)(header + 6);
  return (const pd__section *)(const void *)(header + 24 +
                                             *(const uint16_t *)(const void *)(header + 20));
}

/* Returns whether one section of `image` with `flags` holds `size` bytes at `address`.
 * A note may be damaged or belong to other software: nothing outside is touched. */
static inline int pd__holds(const pd__image *image, const void *address, uint32_t size,
                            uint32_t flags) {
  unsigned count;
  const pd__section *section = pd__sections(image, &count);
  for (; count--; section++) {
    uint64_t offset = (uintptr_t)address - (uintptr_t)image->base - section->offset;
    if ((section->flags & flags) == flags && offset <= section->size &&
        size <= section->size - offset) {
      return 1;
    }
  }
  return 0;
}

/* The next note of a type in an image after `last` (NULL: the first) that points
 * to `size` bytes of writable memory, or NULL. */
static inline const pd__note *pd__next_note(const pd__image *image, const pd__note *last,
                                            uint32_t type, uint32_t size) {
  unsigned count;
  const pd__section *section = pd__sections(image, &count);
  for (; count--; section++) {
    const char *at = image->base + section->offset;
    const char *end = at + section->size;
    if (__builtin_memcmp(section->name, ".pdflags", 8) != 0) continue;
    if (last && (const char *)last >= at) at = (const char *)last + 8;
    for (; at < end && (size_t)(end - at) >= sizeof(pd__note); at += 8) {
      const pd__note *note = (const pd__note *)(const void *)at;
      if (!__builtin_memcmp(note->name, PD_NOTE_NAME, sizeof note->name) && note->type == type &&
          note->size >= sizeof *note && (uintptr_t)note->record % sizeof(void *) == 0 &&
          pd__holds(image, note->record, size, PD__WRITABLE)) {
        return note;
      }
    }
  }
  return NULL;
}

PD__END_C

#endif /* PD_FLAGS_IMAGE_PE_H */
