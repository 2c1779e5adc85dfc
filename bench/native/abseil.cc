/* abseil has no call that defines a flag at run time: this makes the flags as ABSL_FLAG does,
 * through the same internal names. */
#include <absl/flags/flag.h>
#include <absl/flags/parse.h>
#include <absl/flags/reflection.h>

#include <new>

#include "abseil.h"
#include "peer.h"

ABSL_FLAG(int, bench_int, 3, "A flag to read");
ABSL_FLAG(std::string, bench_string, "fast", "A flag to read");

namespace internal = absl::flags_internal;
using flag = absl::Flag<int>;
static flag *flags;

void subject_prepare(const bench_texts *texts) {
  flags = outside_heap<flag>(texts->count);
  for (size_t i = 0; i < texts->count; i++) {
    internal::FlagHelpArg help{internal::FlagHelpMsg(texts->helps[i]),
                               internal::FlagHelpKind::kLiteral};
    internal::FlagDefaultArg initial{internal::FlagDefaultSrc(0),
                                     internal::FlagDefaultKind::kOneWord};
    new (&flags[i]) flag(texts->names[i], __FILE__, help, initial);
  }
}

void subject_register(const bench_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) {
    internal::FlagRegistrar<int, true>(flags[i], __FILE__);
  }
}

bool subject_set(const char *name, const char *text) {
  absl::CommandLineFlag *found = absl::FindCommandLineFlag(name);
  std::string error;
  return found && found->ParseFrom(text, &error);
}

bool subject_parse(int argc, char **argv) { return absl::ParseCommandLine(argc, argv).size() == 1; }

bool subject_holds(const bench_texts *, size_t index, int value) {
  return absl::GetFlag(flags[index]) == value;
}

size_t subject_definition(void) { return sizeof(flag); }

BENCH_READS(absl::GetFlag(FLAGS_bench_int), absl::GetFlag(FLAGS_bench_string))
