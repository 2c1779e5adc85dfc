/* What the headers need of Mach-O, the format of macOS: hidden symbols, the list
 * of definitions, and the entry of a section that points to a record. */
#ifndef PD_FLAGS_NOTE_MACHO_H
#define PD_FLAGS_NOTE_MACHO_H

#define PD__HIDDEN __attribute__((visibility("hidden")))

/* AddressSanitizer would put gaps between the entries of a section. */
#if __has_attribute(no_sanitize)
#define PD__SECTION(name) __attribute__((section("__DATA," name), used, no_sanitize("address")))
#else
#define PD__SECTION(name) __attribute__((section("__DATA," name), used))
#endif

/* A pointer to each definition; the record holds the section's bounds. */
#define PD__LISTED PD__SECTION("__pd_flag_defs")
#define PD__LIST(flag) static const void *pd__listed_##flag PD__LISTED = &pd__def_##flag

/* In section __pd_flags, aligned to 8 bytes. The loader relocates the pointer. */
typedef struct pd__note {
  char name[8]; /* PD_NOTE_NAME, without a NUL */
  uint32_t type;
  uint32_t size; /* of this struct */
  void *record;
} pd__note;

#define PD__NOTE(type, record)                                                 \
  static const pd__note pd__note_##record PD__SECTION("__pd_flags") = {        \
      {'p', 'd', '_', 'f', 'l', 'a', 'g', 's'}, type, sizeof(pd__note), &record}

/* ---- Reading ---- */

PD__BEGIN_C

/* The system's functions, without its headers. An image is identified by its header. */
extern uint32_t pd__image_count(void) __asm__("__dyld_image_count");
extern const void *pd__image_at(uint32_t index) __asm__("__dyld_get_image_header");
extern char *pd__section_of(const void *image, const char *segment, const char *section,
                            unsigned long *size) __asm__("_getsectiondata");
extern char *pd__segment_of(const void *image, const char *segment,
                            unsigned long *size) __asm__("_getsegmentdata");

/* Returns whether the segment __DATA of an image holds `size` bytes at `address`. A note may be
 * damaged or belong to other software: nothing outside is touched. */
PD__HELPER int pd__holds(const void *image, const void *address, unsigned long size) {
  unsigned long whole = 0;
  const char *data = pd__segment_of(image, "__DATA", &whole);
  unsigned long offset = (unsigned long)((uintptr_t)address - (uintptr_t)data);
  return data && offset <= whole && size <= whole - offset;
}

/* The next note of a type in an image after `last` (NULL: the first) that points to
 * `size` bytes of its data, or NULL. */
PD__HELPER const pd__note *pd__next_note(const void *image, const pd__note *last,
                                            uint32_t type, unsigned long size) {
  unsigned long whole = 0;
  const char *at = pd__section_of(image, "__DATA", "__pd_flags", &whole);
  const char *end = at + whole;
  if (!at) return NULL;
  if (last) at = (const char *)last + 8;
  for (; (unsigned long)(end - at) >= sizeof(pd__note); at += 8) {
    const pd__note *note = (const pd__note *)(const void *)at;
    if (!__builtin_memcmp(note->name, PD_NOTE_NAME, sizeof note->name) && note->type == type &&
        note->size >= sizeof *note && (uintptr_t)note->record % sizeof(void *) == 0 &&
        pd__holds(image, note->record, size)) {
      return note;
    }
  }
  return NULL;
}

PD__END_C

#endif /* PD_FLAGS_NOTE_MACHO_H */
