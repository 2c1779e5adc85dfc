# A module of docs/abi.md by hand, for x86-64 Windows and GNU as, without a
# constructor: only pd_module_load finds it. The first notes lead nowhere.
        .intel_syntax noprefix

        .data
        .balign 8
record: .long   1, 40                   # abi, size
        .quad   defs, defs_end
        .quad   0, 0                    # host, state
cell:   .long   6                       # FLAGS_worked_level

        .section .pdflags$n,"dr"
        .balign 8
        .ascii  "pd_flags"
        .long   1, 8                    # too short
        .quad   record
        .ascii  "pd_flags"
        .long   7, 24                   # a type that nobody knows
        .quad   record
        .ascii  "pd_flags"
        .long   1, 24
        .quad   record + 1              # not aligned
        .ascii  "pd_flags"
        .long   1, 24
        .quad   defs                    # not writable
        .ascii  "pd_flags"
        .long   1, 24
        .quad   8                       # not in the image
        .quad   0                       # something else
        .ascii  "pd_flags"
        .long   1, 24
        .quad   record
        .ascii  "pd_flags"              # cut short

        .section .pdflags$d1,"dr"
        .balign 8
defs:   .quad   0, definition
defs_end:

        .section .rdata,"dr"
        .balign 8
definition:
        .long   104, 12                 # size, line
        .byte   2, 0                    # int32, define
        .byte   0, 0, 0                 # hidden, read_only, startup_only
        .zero   3
        .quad   name, help, file
        .quad   0, 0, 0, 0              # choices, category, aliases, module
        .quad   cell
        .quad   6, 1, 9                 # default_value, min, max
name:   .asciz  "worked_level"
help:   .asciz  "Compression level"
file:   .asciz  "worked.s"

        .text
        .globl  worked_level
        .def    worked_level; .scl 2; .type 32; .endef
worked_level:
        mov     eax, [rip + cell]
        ret

        .section .drectve
        .ascii  " -export:worked_level"
