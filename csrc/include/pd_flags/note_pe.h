/* What the headers need of PE, the format of Windows DLLs: the entry of a
 * section that points to a record, and the list of definitions. */
#ifndef PD_FLAGS_NOTE_PE_H
#define PD_FLAGS_NOTE_PE_H

/* Nothing of ours is exported unless the linker was told to export everything. */
#define PD__HIDDEN

/* In section .pdflags, aligned to 8 bytes. The loader relocates the pointer. */
typedef struct pd__note {
  char name[8]; /* PD_NOTE_NAME, without a NUL */
  uint32_t type;
  uint32_t size; /* of this struct */
  void *record;
} pd__note;

/* Linkers sort the parts of a section by the text after the `$`: $d1 holds the list
 * of definitions, between the bounds $d0 and $d2. */
#define PD__SECTION(part) __attribute__((section(".pdflags$" part), used))

/* Refers to `object`. When GNU ld collects garbage, it keeps only those parts of .pdflags that .CRT refers
 * to. Entries after .CRT$XTZ aren't run. */
#define PD__KEEP(object)                                                       \
  static const void *const pd__kept_##object                                   \
      __attribute__((section(".CRT$XTZpd"), used)) = &object

#define PD__LIST(flag)                                                         \
  static const void *const pd__listed_##flag PD__SECTION("d1") = &pd__def_##flag; \
  PD__KEEP(pd__listed_##flag)

#define PD__NOTE(type, record)                                                 \
  static const pd__note pd__note_##record PD__SECTION("n") = {                 \
      {'p', 'd', '_', 'f', 'l', 'a', 'g', 's'}, type, sizeof(pd__note), &record}; \
  PD__KEEP(pd__note_##record)

/* Have the C library run `function` before any C or C++ constructor of the module;
 * those are in .ctors or .CRT$XCU. Functions run in the order of `place`, a letter
 * in quotes. */
#define PD__START(place, function)                                             \
  static void (*const pd__start_##function)(void)                              \
      __attribute__((section(".CRT$XCA" place), used)) = function

#endif /* PD_FLAGS_NOTE_PE_H */
