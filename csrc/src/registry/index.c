/* The index of the host: data for readers in other processes, which this one never reads. */
#include <pd_flags/index.h>

#include "../base/numbered.h"
#include "image.h"
#include "names.h"

/* A bit field has no offset, so the index shows a struct in which only its bits are set. */
static const struct {
  pd_flag assigned, defined, frozen, sensitive;
  pd__cell module, registered;
} examples = {
    .assigned = {.assigned = true},
    .defined = {.defined = true},
    .frozen = {.frozen = true},
    .sensitive = {.sensitive = true},
    .module = {.module = 0x7fffffff},
    .registered = {.registered = true},
};

/* ROW(kind, name of the struct, its type, field): a row of a field. */
#define ROW(kind, label, type, field)                                                              \
  {label "." #field, PD_INDEX_##kind, offsetof(type, field), sizeof(((type *)0)->field)},
#define STRUCT(label, type) {label, PD_INDEX_STRUCT, 0, sizeof(type)},
#define BITS(label, field)                                                                         \
  {label "." #field, PD_INDEX_BITS, offsetof(__typeof__(examples), field), sizeof examples.field},
#define CONSTANT(label, number) {label, PD_INDEX_CONSTANT, number, 0},

/* These are in every struct with an origin. */
#define ORIGIN(label, type, member)                                                                \
  {label ".source", PD_INDEX_NUMBER, offsetof(type, member.source), sizeof(pd_source)},            \
      {label ".line", PD_INDEX_NUMBER, offsetof(type, member.line), sizeof(uint32_t)},             \
      {label ".column", PD_INDEX_NUMBER, offsetof(type, member.column), sizeof(uint32_t)},         \
      {label ".place", PD_INDEX_TEXT, offsetof(type, member.place), sizeof(char *)},

#define MARK(name, words, about) ROW(MARK, "def", pd_flag_def, name)
#define TEXT(name, words, kind, about) ROW(kind, "def", pd_flag_def, name)
#define TYPE(name, number, ctype, member) {#name, PD_INDEX_TYPE, number, sizeof(ctype)},
#define SOURCE(name, number, rank, text) {text, PD_INDEX_SOURCE, number, 0},

/* clang-format off */
static const pd_index_row rows[] = {
    STRUCT("names", pd__names)
    ROW(POINTER, "names", pd__names, chunks)
    ROW(NUMBER, "names", pd__names, count)
    ROW(NUMBER, "names", pd__names, first_listed)
    STRUCT("chunk", pd__chunk)
    ROW(POINTER, "chunk", pd__chunk, nodes)
    CONSTANT("chunk.count", PD__CHUNK)

    STRUCT("flag", pd_flag)
    ROW(TEXT, "flag", pd_flag, name)
    ROW(NUMBER, "flag", pd_flag, type)
    ROW(NUMBER, "flag", pd_flag, number)
    ROW(NUMBER, "flag", pd_flag, truth)
    ROW(TEXT, "flag", pd_flag, text)
    ROW(NUMBER, "flag", pd_flag, source)
    ROW(NUMBER, "flag", pd_flag, line)
    ROW(NUMBER, "flag", pd_flag, column)
    ROW(TEXT, "flag", pd_flag, place)
    ROW(NUMBER, "flag", pd_flag, next_listed)
    ROW(POINTER, "flag", pd_flag, cells)
    ROW(POINTER, "flag", pd_flag, history)
    ROW(POINTER, "flag", pd_flag, extra)
    BITS("flag", assigned)
    BITS("flag", defined)
    BITS("flag", frozen)
    BITS("flag", sensitive)

    STRUCT("extra", pd__extra)
    ROW(POINTER, "extra", pd__extra, overrides)
    ROW(VALUE, "extra", pd__extra, base)
    STRUCT("overridden", pd__override_entry)
    ROW(POINTER, "overridden", pd__override_entry, values)
    ROW(POINTER, "overridden", pd__override_entry, below)
    STRUCT("entry", pd__entry)
    ROW(VALUE, "entry", pd__entry, value)
    ORIGIN("entry", pd__entry, origin)
    ROW(NUMBER, "entry", pd__entry, replaced)
    ROW(POINTER, "entry", pd__entry, next)

    STRUCT("cell", pd__cell)
    ROW(POINTER, "cell", pd__cell, def)
    ROW(POINTER, "cell", pd__cell, next)
    BITS("cell", module)
    BITS("cell", registered)
    STRUCT("list", pd__numbered)
    ROW(POINTER, "list", pd__numbered, rows)
    ROW(NUMBER, "list", pd__numbered, count)
    STRUCT("row", pd__numbered_row)
    ROW(POINTER, "row", pd__numbered_row, item)
    STRUCT("module", pd_module)
    ROW(TEXT, "module", pd_module, path)

    STRUCT("def", pd_flag_def)
    ROW(NUMBER, "def", pd_flag_def, line)
    ROW(NUMBER, "def", pd_flag_def, type)
    ROW(NUMBER, "def", pd_flag_def, list)
    ROW(POINTER, "def", pd_flag_def, name)
    ROW(POINTER, "def", pd_flag_def, help)
    ROW(POINTER, "def", pd_flag_def, file)
    ROW(POINTER, "def", pd_flag_def, module)
    ROW(POINTER, "def", pd_flag_def, cell)
    ROW(VALUE, "def", pd_flag_def, default_value)
    ROW(VALUE, "def", pd_flag_def, min)
    ROW(VALUE, "def", pd_flag_def, max)
    ROW(POINTER, "def", pd_flag_def, access)
    ROW(NUMBER, "def", pd_flag_def, assignable)
    PD_MARK_MAP(MARK)
    PD_TEXT_MAP(TEXT)

    PD_TYPE_MAP(TYPE)
    PD_SOURCE_MAP(SOURCE)
};
/* clang-format on */

const pd_index pd__index = {
    .magic = PD_INDEX_MAGIC,
    .version = PD_INDEX_VERSION,
    .size = sizeof pd__index,
    .row_size = sizeof *rows,
    .row_count = sizeof rows / sizeof *rows,
    .rows = rows,
    .examples = &examples,
    .names = &pd__names_place,
    .modules = &pd__modules_place,
    .startup_over = &pd__startup_over,
};
