/* Paddle's own flags, built without gflags. */
#include <paddle/common/flags.h>

#include "peer.h"

PD_DEFINE_int32(bench_int, 3, "A flag to read");
PD_DEFINE_string(bench_string, "fast", "A flag to read");

static int *cells, *initial;

void subject_prepare(const bench_texts *texts) {
  cells = outside_heap<int>(texts->count);
  initial = outside_heap<int>(texts->count);
}

void subject_register(const bench_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) {
    paddle::flags::FlagRegisterer(texts->names[i], texts->helps[i], __FILE__, &initial[i],
                                  &cells[i]);
  }
}

bool subject_set(const char *name, const char *text) {
  return paddle::flags::SetFlagValue(name, text);
}

bool subject_parse(int argc, char **argv) {
  paddle::flags::ParseCommandLineFlags(&argc, &argv);
  return true;
}

bool subject_holds(const bench_texts *, size_t index, int value) { return cells[index] == value; }

size_t subject_definition(void) { return 2 * sizeof(int); }

BENCH_READS(FLAGS_bench_int, FLAGS_bench_string)
