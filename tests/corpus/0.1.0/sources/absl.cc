/* A source for Abseil. */
#define PD_HEADER_ONLY
#include <absl/flags/flag.h>
#include <string>
#include "export.h"

ABSL_FLAG(int, a_int, 6, "How hard to try");
ABSL_FLAG(std::string, a_string, "fast", "How to search");

EXPORT int number() { return absl::GetFlag(FLAGS_a_int); }
EXPORT int assign() {
  absl::SetFlag(&FLAGS_a_int, 8);
  return absl::GetFlag(FLAGS_a_int);
}
