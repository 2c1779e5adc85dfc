/* gflags. */
#include <gflags/gflags.h>

#include "peer.h"

DEFINE_int32(bench_int, 3, "A flag to read");
DEFINE_string(bench_string, "fast", "A flag to read");

struct cell {
  gflags::int32 current, initial;
};
static cell *cells;

void subject_prepare(const bench_texts *texts) { cells = outside_heap<cell>(texts->count); }

void subject_register(const bench_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) {
    gflags::FlagRegisterer(texts->names[i], texts->helps[i], __FILE__, &cells[i].current,
                           &cells[i].initial);
  }
}

bool subject_set(const char *name, const char *text) {
  return !gflags::SetCommandLineOption(name, text).empty();
}

bool subject_parse(int argc, char **argv) {
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
  return argc == 1;
}

bool subject_holds(const bench_texts *, size_t index, int value) {
  return cells[index].current == value;
}

size_t subject_definition(void) { return sizeof(cell); }

BENCH_READS(FLAGS_bench_int, FLAGS_bench_string)
