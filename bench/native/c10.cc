/* PyTorch's c10. Its macro defines a class for each flag; here all flags share one. */
#include <c10/util/Flags.h>

#include "peer.h"

C10_DEFINE_int(bench_int, 3, "A flag to read")
C10_DEFINE_string(bench_string, "fast", "A flag to read")

static int *cells;

namespace {
class parser : public c10::C10FlagParser {
 public:
  parser(const std::string &text, int *cell) { success_ = Parse<int>(text, cell); }
};
}  // namespace

void subject_prepare(const bench_texts *texts) { cells = outside_heap<int>(texts->count); }

void subject_register(const bench_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) {
    int *cell = &cells[i];
    auto make = [cell](const std::string &text) { return std::make_unique<parser>(text, cell); };
    c10::C10FlagsRegistry()->Register(texts->names[i], make, texts->helps[i]);
  }
}

bool subject_set(const char *name, const char *text) {
  auto made = c10::C10FlagsRegistry()->Create(name, text);
  return made && made->success();
}

bool subject_parse(int argc, char **argv) { return c10::ParseCommandLineFlags(&argc, &argv); }

bool subject_holds(const bench_texts *, size_t index, int value) { return cells[index] == value; }

size_t subject_definition(void) { return sizeof(int); }

BENCH_READS(FLAGS_bench_int, FLAGS_bench_string)
