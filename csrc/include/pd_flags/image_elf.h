/* The loaded images of a process on ELF systems, and the records that their notes
 * point to. */
#ifndef PD_FLAGS_IMAGE_ELF_H
#define PD_FLAGS_IMAGE_ELF_H

#include <pd_flags/note_elf.h>

/* For functions that read what the loader wrote. ThreadSanitizer doesn't see the loader's writes
 * and would report the last write of an earlier image at the same address. */
#define PD__READS_IMAGE
#if defined(__has_attribute)
#if __has_attribute(no_sanitize)
#undef PD__READS_IMAGE
#define PD__READS_IMAGE __attribute__((no_sanitize("thread")))
#endif
#endif

PD__BEGIN_C

/* The program header and the head of a note, with the names of <elf.h>. That has thousands of macros,
 * which would cost each source file as much as the declarations of pd_flags.h. */
typedef struct pd__phdr {
  uint32_t p_type; /* PD__PT_ */
#if __SIZEOF_POINTER__ == 8
  uint32_t p_flags; /* PD__PF_ */
#endif
  uintptr_t p_offset, p_vaddr, p_paddr, p_filesz, p_memsz;
#if __SIZEOF_POINTER__ != 8
  uint32_t p_flags;
#endif
  uintptr_t p_align;
} pd__phdr;
typedef struct pd__nhdr {
  uint32_t n_namesz, n_descsz, n_type;
} pd__nhdr;
enum { PD__PT_LOAD = 1, PD__PT_NOTE = 4, PD__PF_W = 2, PD__PF_R = 4 };
enum { PD__ET_EXEC = 2, PD__E_TYPE = 16 /* where a file has it */ };

/* struct dl_phdr_info of <link.h>, which needs _GNU_SOURCE: its first fields,
 * fixed by the ABI of glibc, musl and the BSDs. */
typedef struct pd__image {
  uintptr_t base;
  const char *path;
  const pd__phdr *segments;
  uint16_t count;
} pd__image;

/* The C library's function, declared with our type under our name. */
extern int pd__walk_images(int (*visit)(pd__image *, size_t, void *), void *context)
    __asm__("dl_iterate_phdr");

/* Returns whether one loaded segment of `image` with `flags` holds `size` bytes at `address`. A
 * note may be damaged or belong to other software: nothing outside is touched. */
PD__READS_IMAGE
PD__HELPER int pd__holds(const pd__image *image, uintptr_t address, uint64_t size,
                         uint32_t flags) {
  for (uint16_t i = 0; i < image->count; i++) {
    const pd__phdr *segment = &image->segments[i];
    uint64_t offset = address - (image->base + segment->p_vaddr);
    if (segment->p_type == PD__PT_LOAD && (segment->p_flags & flags) == flags &&
        offset <= segment->p_memsz && size <= segment->p_memsz - offset) {
      return 1;
    }
  }
  return 0;
}

/* How far a note has been moved since the linker wrote it. Tools that make room for program headers
 * move the sections behind them to the end of the file: patchelf does, for example for auditwheel.
 * In a program with fixed addresses it puts pages in front instead, and the note stays. */
PD__READS_IMAGE
PD__HELPER uintptr_t pd__note_shift(const pd__image *image, const pd__nhdr *note,
                                    const char *body) {
  if (note->n_descsz < 8) return 0;
  const int32_t *to_first_byte = (const int32_t *)(const void *)body + 1;
  for (uint16_t i = 0; i < image->count; i++) {
    const pd__phdr *segment = &image->segments[i];
    if (segment->p_type != PD__PT_LOAD || segment->p_offset != 0) continue;
    uintptr_t first_byte = image->base + segment->p_vaddr;
    const uint16_t *file_type = (const uint16_t *)(first_byte + PD__E_TYPE);
    if (segment->p_memsz < PD__E_TYPE + sizeof *file_type || *file_type == PD__ET_EXEC) return 0;
    uintptr_t linked = (uintptr_t)to_first_byte + (uintptr_t)(intptr_t)*to_first_byte;
    return linked - first_byte;
  }
  return 0;
}

/* The record of `size` bytes that a note of `type` points to, or NULL for other notes. */
PD__READS_IMAGE
PD__HELPER void *pd__record_of(const pd__image *image, const pd__nhdr *note, const char *body,
                               uint32_t type, uint64_t size) {
  if (note->n_type != type || note->n_descsz < 4 || note->n_namesz != sizeof PD_NOTE_NAME ||
      __builtin_memcmp(note + 1, PD_NOTE_NAME, sizeof PD_NOTE_NAME) != 0) {
    return NULL;
  }
  uintptr_t at = (uintptr_t)body + (uintptr_t)(intptr_t)*(const int32_t *)(const void *)body;
  at -= pd__note_shift(image, note, body);
  int sound = at % sizeof(void *) == 0 && pd__holds(image, at, size, PD__PF_R | PD__PF_W);
  return sound ? (void *)at : NULL;
}

/* Call `visit` with each record of `size` bytes of writable memory that a note of `type`
 * points to, until it returns anything but 0, and return that. */
typedef int pd__visit_record(void *record, void *context);
PD__READS_IMAGE
PD__HELPER int pd__each_record(const pd__image *image, uint32_t type, uint64_t size,
                               pd__visit_record *visit, void *context) {
  int result = 0;
  for (uint16_t i = 0; i < image->count; i++) {
    const pd__phdr *segment = &image->segments[i];
    uintptr_t start = image->base + segment->p_vaddr;
    uint64_t left = segment->p_memsz, padding = segment->p_align == 8 ? 7 : 3;
    const char *at = (const char *)start;
    if (segment->p_type != PD__PT_NOTE || start % 4) continue;
    if (!pd__holds(image, start, left, PD__PF_R)) continue;
    while (left >= sizeof(pd__nhdr)) {
      const pd__nhdr *note = (const pd__nhdr *)(const void *)at;
      uint64_t head = (sizeof *note + (uint64_t)note->n_namesz + padding) & ~padding;
      uint64_t whole = (head + note->n_descsz + padding) & ~padding;
      if (head + note->n_descsz > left) break;
      void *record = pd__record_of(image, note, at + head, type, size);
      if (record) result = visit(record, context);
      if (result != 0) return result;
      if (whole >= left) break; /* the last one may lack its padding */
      at += whole;
      left -= whole;
    }
  }
  return 0;
}

PD__END_C

#endif /* PD_FLAGS_IMAGE_ELF_H */
