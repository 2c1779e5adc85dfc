/* What compat/absl/flags/usage.h and usage_config.h say about the program, for its --help. */
#ifndef PD_FLAGS_ABSL_USAGE_HPP
#define PD_FLAGS_ABSL_USAGE_HPP

#include <pd_flags/absl_marshalling.hpp>

#include <functional>

namespace absl {

/* With it, a program determines what its help looks like. The registry groups the flags, so filters
 * that choose source files are accepted and have no effect. */
struct FlagsUsageConfig {
  std::function<bool(string_view)> contains_helpshort_flags;
  std::function<bool(string_view)> contains_help_flags;
  std::function<bool(string_view)> contains_helppackage_flags;
  std::function<std::string()> version_string;
  std::function<std::string(string_view)> normalize_filename;
};

}  // namespace absl

namespace pd {
namespace absl_flags PD__LOCAL {
PD__LOCAL inline std::string &usage() {
  static auto *text = new std::string;
  return *text;
}
PD__LOCAL inline ::absl::FlagsUsageConfig &usage_config() {
  static auto *config = new ::absl::FlagsUsageConfig;
  return *config;
}
}  // namespace absl_flags
}  // namespace pd

namespace absl {
PD__LOCAL inline void SetProgramUsageMessage(string_view text) {
  ::pd::absl_flags::usage().assign(text.data(), text.size());
}
PD__LOCAL inline string_view ProgramUsageMessage() { return ::pd::absl_flags::usage(); }
PD__LOCAL inline void SetFlagsUsageConfig(FlagsUsageConfig config) {
  ::pd::absl_flags::usage_config() = std::move(config);
}
}  // namespace absl

#endif /* PD_FLAGS_ABSL_USAGE_HPP */
