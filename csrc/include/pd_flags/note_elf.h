/* What the headers need of ELF: hidden symbols, the list of definitions, and the
 * note that points to a record. */
#ifndef PD_FLAGS_NOTE_ELF_H
#define PD_FLAGS_NOTE_ELF_H

#include <pd_flags/language.h>

#define PD__HIDDEN __attribute__((visibility("hidden")))

/* A pointer to each definition goes into one section, whose bounds the module record holds: linkers
 * put the parts of all files together, and name the bounds of a section whose name could be a
 * variable's. `used` and `retain` prevent the compiler and the linker from leaving out what nothing
 * refers to. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define PD__LISTED __attribute__((section("pd_flags"), used, retain))
#endif
#endif
#ifndef PD__LISTED
#define PD__LISTED __attribute__((section("pd_flags"), used))
#endif
#define PD__LIST(flag) static const void *pd__listed_##flag PD__LISTED = &pd__def_##flag

/* A note for `record`: the sizes of its name and its descriptor, its type, and both. The descriptor
 * is two distances, of which the one to the file's first byte tells if the note has been moved. In
 * assembly, because C can't express a distance, which needs no relocation. Only once in each
 * assembler file, hence .ifndef: link-time optimization pastes the assembly of many sources into
 * one. Not in a COMDAT group, because lld collects grouped notes as garbage. */
#define PD__NOTE(type, record)                                                 \
  __asm__(".ifndef .Lpd_note_" record "\n"                                     \
          ".pushsection .note.pd_flags,\"a\",%note\n"                          \
          ".balign 4\n"                                                        \
          ".long 9, 8, " type "\n"                                             \
          ".asciz \"" PD_NOTE_NAME "\"\n"                                      \
          ".balign 4\n"                                                        \
          ".Lpd_note_" record ":\n"                                            \
          ".long " record " - .\n"                                             \
          ".hidden __ehdr_start\n"                                             \
          ".weak __ehdr_start\n"                                               \
          ".long __ehdr_start - .\n"                                           \
          ".popsection\n"                                                      \
          ".endif\n")

#endif /* PD_FLAGS_NOTE_ELF_H */
