/* A note that leads to a module record of which no more than the first bytes lie in the image: the
 * registry must not read it, so this is a library without flags. */
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

/* The last 16 bytes of the writable segment, whatever the linker puts there. */
__asm__(".hidden _end\n"
        ".pushsection .note.pd_flags,\"a\",%note\n"
        ".balign 4\n"
        ".long 9, 4, 1\n"
        ".asciz \"" PD_NOTE_NAME "\"\n"
        ".balign 4\n"
        ".long _end - 16 - .\n"
        ".popsection\n");

__attribute__((visibility("default"))) char overlapping_room[4096];
