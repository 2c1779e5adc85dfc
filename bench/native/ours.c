/* paddle_flags: flags made by pd_flag_register, or, with BENCH_STATIC, the flags of a module: an
 * array of definitions such as the PD_DEFINE macros emit, joined as one record. */
#include "subject.h"

#include <pd_flags.h>
#include <string.h>

#ifndef BENCH_MOST_FLAGS
#define BENCH_MOST_FLAGS 1000000
#endif

PD_DEFINE_int32(bench_int, 3, "A flag to read");
PD_DEFINE_string(bench_string, "fast", "A flag to read");

/* The macros put each variable on a cache line of its own; pd_flag_register takes any. */
typedef struct cell {
#ifdef BENCH_STATIC
  PD__OWN_LINE
#endif
  int32_t value;
} cell;

static cell cells[BENCH_MOST_FLAGS];

static pd_flag_def definition_of(const bench_texts *texts, size_t index) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = texts->names[index];
  def.help = texts->helps[index];
  def.file = __FILE__;
  def.line = (uint32_t)index + 1;
  def.cell = &cells[index].value;
  return def;
}

#ifdef BENCH_STATIC

static pd_flag_def definitions[BENCH_MOST_FLAGS];
static const pd_flag_def *pointers[BENCH_MOST_FLAGS];
static char room[BENCH_MOST_FLAGS][72]; /* the texts of a module are in its image */

void subject_prepare(const bench_texts *texts) {
  memset(cells, 0, texts->count * sizeof *cells);
  for (size_t i = 0; i < texts->count; i++) {
    definitions[i] = definition_of(texts, i);
    size_t size = strlen(texts->names[i]) + 1;
    definitions[i].name = memcpy(room[i], texts->names[i], size);
    definitions[i].help = strcpy(room[i] + size, texts->helps[i]);
    pointers[i] = &definitions[i];
  }
}

/* The record of this program joined before main. It leaves, and joins again with all of the
 * definitions. */
void subject_register(const bench_texts *texts) {
  const pd_host *host = pd__module_v1.host;
  host->module_leave(&pd__module_v1);
  pd__module_v1.defs = pointers;
  pd__module_v1.defs_end = pointers + texts->count;
  host->module_join(&pd__module_v1);
}

size_t subject_copied(const bench_texts *texts) {
  (void)texts;
  return 0;
}

#else

void subject_prepare(const bench_texts *texts) { memset(cells, 0, texts->count * sizeof *cells); }

void subject_register(const bench_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) {
    pd_flag_def def = definition_of(texts, i);
    if (pd_flag_register(&def, NULL, NULL) != PD_OK) return;
  }
}

size_t subject_copied(const bench_texts *texts) {
  size_t sum = texts->count * sizeof(pd_flag_def);
  for (size_t i = 0; i < texts->count; i++) {
    sum += strlen(texts->names[i]) + 1 + strlen(texts->helps[i]) + 1;
  }
  return sum;
}

#endif

/* What the macros emit: the definition, a pointer to it, and the variable. */
size_t subject_definition(void) { return sizeof(pd_flag_def) + sizeof(void *) + sizeof *cells; }

bool subject_set(const char *name, const char *text) {
  return pd_flag_set_by_name(name, text, NULL) == PD_OK;
}

bool subject_parse(int argc, char **argv) {
  return pd_parse_argv(&argc, argv, NULL, NULL) == PD_OK;
}

bool subject_holds(const bench_texts *texts, size_t index, int value) {
  (void)texts;
  return cells[index].value == value;
}

void bench_read_int(size_t rounds) {
  for (size_t i = 0; i < rounds; i++) BENCH_USE(FLAGS_bench_int);
}

void bench_read_string(size_t rounds) {
  for (size_t i = 0; i < rounds; i++) BENCH_USE(FLAGS_bench_string);
}
