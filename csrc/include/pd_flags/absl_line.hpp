/* The command line of compat/absl/flags/parse.h: the registry's, with Abseil's messages and exits. */
#ifndef PD_FLAGS_ABSL_LINE_HPP
#define PD_FLAGS_ABSL_LINE_HPP

#include <pd_flags/absl_usage.hpp>
#include <pd_flags/hosting.hpp>

#include <cstdio>
#include <cstdlib>

namespace absl {
/* A token that names no flag. */
struct UnrecognizedFlag {
  enum Source { kFromArgv, kFromFlagfile };
  UnrecognizedFlag(Source from, string_view name)
      : source(from), flag_name(name.data(), name.size()) {}
  Source source;
  std::string flag_name; /* without dashes and value */
};
}  // namespace absl

namespace pd {
namespace absl_flags PD__LOCAL {

PD__LOCAL inline void write_to(const char *text, size_t length, void *file) {
  std::fwrite(text, 1, length, static_cast<FILE *>(file));
}

[[noreturn]] PD__LOCAL inline void show_help(const char *program, const pd_help &help) {
  pd_report_options options = ::pd::detail::sized<pd_report_options>();
  std::string version;
  if (usage_config().version_string) version = usage_config().version_string();
  options.help = &help;
  options.program = program;
  if (!usage().empty()) options.usage = usage().c_str();
  if (!version.empty()) options.version = version.c_str();
  pd_report_help(&options, write_to, stdout, nullptr);
  std::exit(help.kind == PD_HELP_VERSION ? 0 : 1);
}

[[noreturn]] PD__LOCAL inline void end_with(const inner::error_list &errors, const pd_error &err) {
  size_t count = PD__HOST(error_list_count)(errors.get());
  if (!count) std::fprintf(stderr, "ERROR: %s\n", err.message);
  for (size_t i = 0; i < count; i++) {
    std::fprintf(stderr, "ERROR: %s\n", PD__HOST(error_list_at)(errors.get(), i)->message);
  }
  std::exit(1);
}

/* Parse, or end the program as Abseil does; returns argv[0] and the arguments. */
PD__LOCAL inline std::vector<char *> parse_line(int argc, char **argv, bool known_only) {
  std::vector<char *> line(argv, argv + argc);
  inner::error_list errors;
  pd_error err{};
  pd_help help = ::pd::detail::sized<pd_help>();
  pd_parse_options options = ::pd::detail::sized<pd_parse_options>();
  options.errors = errors.get();
  options.help = &help;
  options.known_only = known_only;
  options.keep_startup = known_only; /* another parser, or a later call, follows */
  line.push_back(nullptr);
  pd_status status = pd_parse_argv(&argc, line.data(), &options, &err);
  if (status == PD_HELP) show_help(argv[0], help);
  if (status != PD_OK) end_with(errors, err);
  line.resize(static_cast<size_t>(argc));
  return line;
}

}  // namespace absl_flags
}  // namespace pd

namespace absl {

/* Set the flags of the line; returns argv[0] and the arguments. If the line has an error, it is
 * printed to stderr, and the program ends with 1. */
PD__LOCAL inline std::vector<char *> ParseCommandLine(int argc, char *argv[]) {
  return ::pd::absl_flags::parse_line(argc, argv, false);
}

/* The same, but tokens that name no flag go to `unrecognized_flags`. */
PD__LOCAL inline void ParseAbseilFlagsOnly(int argc, char *argv[],
                                           std::vector<char *> &positional_args,
                                           std::vector<UnrecognizedFlag> &unrecognized_flags) {
  std::vector<char *> rest = ::pd::absl_flags::parse_line(argc, argv, true);
  bool flags = true; /* until -- */
  positional_args.clear();
  unrecognized_flags.clear();
  for (size_t i = 0; i < rest.size(); i++) {
    std::string text = rest[i];
    if (i && flags && text == "--") {
      flags = false;
    } else if (i && flags && text.size() > 1 && text[0] == '-') {
      size_t first = text[1] == '-' ? 2 : 1;
      std::string name = text.substr(first, text.find('=') - first);
      unrecognized_flags.emplace_back(UnrecognizedFlag::kFromArgv, name);
    } else {
      positional_args.push_back(rest[i]);
    }
  }
}

/* End the program with 1, if there are any. */
PD__LOCAL inline void ReportUnrecognizedFlags(const std::vector<UnrecognizedFlag> &flags) {
  for (const UnrecognizedFlag &each : flags) {
    std::fprintf(stderr, "ERROR: Unknown command line flag '%s'\n", each.flag_name.c_str());
  }
  if (!flags.empty()) std::exit(1);
}

}  // namespace absl

#endif /* PD_FLAGS_ABSL_LINE_HPP */
