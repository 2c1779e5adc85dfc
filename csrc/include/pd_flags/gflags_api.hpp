/* The functions of compat/gflags/gflags.h, in its namespace. */
#ifndef PD_FLAGS_GFLAGS_API_HPP
#define PD_FLAGS_GFLAGS_API_HPP

#include <pd_flags/gflags_saver.hpp>

namespace pd {
namespace gflags_detail PD__LOCAL {

/* ---- Validators ---- */

/* Room for the validator of another module's flag, or NULL if there is no such flag. */
PD__LAZY checker *add_checker(const void *variable) {
  pd_flag *flag = detail::flag_of(variable, nullptr);
  const pd_table *table = detail::table_of_host(); /* a plugin with validators needs no library */
  pd_flag_info info = detail::sized<pd_flag_info>();
  if (!flag || table->flag_get_info(flag, &info, nullptr) != PD_OK) return nullptr;
  registered() = new checker{info.name, nullptr, nullptr, 0, variable, registered(), nullptr};
  return registered();
}

template <class T>
PD__LOCAL bool add_validator(const T *variable,
                             bool (*function)(const char *, argument<T>)) {
  void (*added)() = reinterpret_cast<void (*)()>(function);
  checker *check = checkers<>().find(variable);
  if (!check) check = add_checker(variable);
  if (!check || (added && check->function && check->function != added)) return false;
  check->ask = validate<T>;
  return set_validator(*check, added);
}

/* ---- Definitions at run time ---- */

template <class T>
PD__LOCAL void define(const char *name, const char *help, const char *file, T *current,
                      const T *fallback) {
  pd_error err;
  pd_flag *flag = nullptr;
  pd_status status =
      detail::define_variable(name, help, file, current, *fallback, &flag, &err);
  if (!flag) {
    end_with(std::string("ERROR: ") + err.message + "\n");
    return;
  }
  registered() = new checker{name, nullptr, nullptr, 0, current, registered(), nullptr};
  if (status != PD_OK) std::fprintf(stderr, "ERROR: %s\n", err.message);
}

/* ---- The environment ---- */

template <class T>
PD__LOCAL T from_environment(const char *variable, T otherwise) {
  using type = detail::value_type<T>;
  pd_value value;
  const char *text = std::getenv(variable);
  if (!text) return otherwise;
  if (text_to_value(type::type, text, &value)) return type::get(value);
  end_with(std::string("ERROR: error parsing env variable '") + variable + "' with value '" + text +
      "'\n");
  return otherwise;
}

}  // namespace gflags_detail

namespace gflags_types {

/* What a FlagSaver does, compiled where there is one. */
template <class = void>
class saver {
 public:
  PD__LOCAL saver() : state_(new gflags_detail::state<>) {}
  PD__LOCAL ~saver() {
    auto *state = static_cast<gflags_detail::state<> *>(state_);
    state->restore();
    delete state;
  }

 private:
  void *state_; /* of a type that the module doesn't export */
};

}  // namespace gflags_types
}  // namespace pd

namespace GFLAGS_NAMESPACE {

namespace detail_ = ::pd::gflags_detail;

/* ---- Validators: one for each flag; NULL removes it ---- */

#define PD__GFLAGS_VALIDATOR(T)                                                          \
  PD__LAZY bool RegisterFlagValidator(                                            \
      const T *flag, bool (*validate)(const char *, detail_::argument<T>)) {             \
    return detail_::add_validator(flag, validate);                                       \
  }
PD__GFLAGS_VALIDATOR(bool)
PD__GFLAGS_VALIDATOR(int32)
PD__GFLAGS_VALIDATOR(uint32)
PD__GFLAGS_VALIDATOR(int64)
PD__GFLAGS_VALIDATOR(uint64)
PD__GFLAGS_VALIDATOR(double)
PD__GFLAGS_VALIDATOR(std::string)

/* ---- Lists and help ---- */

PD__LAZY void GetAllFlags(std::vector<CommandLineFlagInfo> *output) {
  std::vector<CommandLineFlagInfo> all = detail_::all_flags();
  output->insert(output->end(), all.begin(), all.end());
}
PD__LAZY void ShowUsageWithFlagsRestrict(const char *argv0, const char *part) {
  detail_::show_flags(argv0, {part ? part : ""});
}
PD__LAZY void ShowUsageWithFlags(const char *argv0) {
  ShowUsageWithFlagsRestrict(argv0, "");
}
PD__LAZY std::string DescribeOneFlag(const CommandLineFlagInfo &flag) {
  return detail_::describe_text(flag);
}

/* ---- The program ---- */

PD__LAZY void SetArgv(int argc, const char **argv) { detail_::keep_line(argc, argv); }
PD__LAZY const std::vector<std::string> &GetArgvs() {
  static std::vector<std::string> words;
  pd_program program = detail_::program();
  if (words.empty() && program.argv) words.assign(program.argv, program.argv + program.argc);
  return words;
}
PD__LAZY const char *GetArgv() {
  static std::string line;
  if (!line.empty()) return line.c_str();
  for (const std::string &word : GetArgvs()) line += (line.empty() ? "" : " ") + word;
  return line.c_str();
}
PD__LAZY const char *GetArgv0() { return detail_::program_name(); }
PD__LAZY uint32 GetArgvSum() {
  uint32 total = 0;
  for (const char *at = GetArgv(); *at; at++) total += static_cast<uint32>(*at);
  return total;
}
PD__LAZY const char *ProgramInvocationName() { return detail_::program_name(); }
PD__LAZY const char *ProgramInvocationShortName() { return detail_::program_short_name(); }
PD__LAZY void SetUsageMessage(const std::string &usage) {
  pd_program made = {sizeof made, 0, nullptr, usage.c_str(), nullptr};
  pd_program_set(&made, nullptr);
}
PD__LAZY const char *ProgramUsage() { return detail_::program_usage(); }
PD__LAZY void SetVersionString(const std::string &version) {
  pd_program made = {sizeof made, 0, nullptr, nullptr, version.c_str()};
  pd_program_set(&made, nullptr);
}
PD__LAZY const char *VersionString() {
  const char *version = detail_::program().version;
  return version ? version : "";
}

/* ---- Flags by name ---- */

PD__LAZY bool GetCommandLineOption(const char *name, std::string *output) {
  detail_::handle flag = detail_::find(name ? name : "");
  if (flag.exists()) *output = detail_::text_of(flag);
  return flag.exists();
}
PD__LAZY bool GetCommandLineFlagInfo(const char *name, CommandLineFlagInfo *output) {
  detail_::handle flag = detail_::find(name ? name : "");
  if (flag.exists()) *output = detail_::describe(flag, detail_::checkers<>());
  return flag.exists();
}
PD__LAZY CommandLineFlagInfo GetCommandLineFlagInfoOrDie(const char *name) {
  CommandLineFlagInfo info = CommandLineFlagInfo();
  if (!GetCommandLineFlagInfo(name, &info)) {
    detail_::end_with(std::string("FATAL ERROR: flag name '") + (name ? name : "") +
                 "' doesn't exist\n");
  }
  return info;
}
PD__LAZY std::string SetCommandLineOptionWithMode(const char *name, const char *value,
                                                        FlagSettingMode mode) {
  detail_::handle flag = detail_::find(name ? name : "");
  detail_::reader<> reads(PD_SOURCE_RUNTIME);
  pd_origin origin = {PD_SOURCE_RUNTIME, 0, nullptr, 0};
  return flag.exists() && value ? reads.take(flag, value, mode, origin) : "";
}
PD__LAZY std::string SetCommandLineOption(const char *name, const char *value) {
  return SetCommandLineOptionWithMode(name, value, SET_FLAGS_VALUE);
}

/* Its destructor restores all flags, their defaults and this module's validators. */
class FlagSaver {
 public:
  PD__LOCAL FlagSaver() = default;
  PD__LOCAL ~FlagSaver() = default;
  FlagSaver(const FlagSaver &) = delete;
  FlagSaver &operator=(const FlagSaver &) = delete;

 private:
  ::pd::gflags_types::saver<> saver_;
} __attribute__((unused));

/* ---- Flags as text ---- */

PD__LAZY std::string CommandlineFlagsIntoString() {
  return detail_::to_lines(detail_::all_flags(), "");
}
PD__LAZY bool ReadFlagsFromString(const std::string &text, const char *, bool fatal) {
  return detail_::read_lines(text, nullptr, fatal);
}
PD__LAZY bool AppendFlagsIntoFile(const std::string &path, const char *program) {
  FILE *file = std::fopen(path.c_str(), "a");
  if (!file) return false;
  std::string text = program ? std::string(program) + "\n" : "";
  text += detail_::to_lines(detail_::all_flags(), "flagfile");
  bool written = std::fputs(text.c_str(), file) >= 0;
  return std::fclose(file) == 0 && written;
}
PD__LAZY bool ReadFromFlagsFile(const std::string &path, const char *, bool fatal) {
  return detail_::read_lines(detail_::read_file(path.c_str()), path.c_str(), fatal);
}

/* ---- Defaults from the environment ---- */

#define PD__GFLAGS_FROM_ENV(Type, T)                                                     \
  PD__LAZY T Type##FromEnv(const char *variable, T otherwise) {                   \
    return detail_::from_environment(variable, otherwise);                               \
  }
PD__GFLAGS_FROM_ENV(Bool, bool)
PD__GFLAGS_FROM_ENV(Int32, int32)
PD__GFLAGS_FROM_ENV(Uint32, uint32)
PD__GFLAGS_FROM_ENV(Int64, int64)
PD__GFLAGS_FROM_ENV(Uint64, uint64)
PD__GFLAGS_FROM_ENV(Double, double)
PD__LAZY const char *StringFromEnv(const char *variable, const char *otherwise) {
  const char *value = std::getenv(variable);
  return value ? value : otherwise;
}

/* ---- The command line ---- */

PD__LAZY void HandleCommandLineCompletions() { detail_::complete(); }
inline namespace PD__GFLAGS_BUILD { /* two functions each */
PD__LAZY void HandleCommandLineHelpFlags() {
  detail_::is_debug_build() = PD__GFLAGS_DEBUG;
  detail_::complete();
  detail_::show_what_was_asked_for();
}
PD__LAZY uint32 ParseCommandLineFlags(int *argc, char ***argv, bool remove_flags) {
  detail_::is_debug_build() = PD__GFLAGS_DEBUG;
  return detail_::parse(argc, argv, remove_flags, true);
}
}  // namespace PD__GFLAGS_BUILD
PD__LAZY uint32 ParseCommandLineNonHelpFlags(int *argc, char ***argv, bool remove_flags) {
  return detail_::parse(argc, argv, remove_flags, false);
}
PD__LAZY void AllowCommandLineReparsing() { detail_::may_come_later() = true; }
PD__LAZY void ReparseCommandLineNonHelpFlags() {
  std::vector<std::string> words = GetArgvs();
  std::vector<char *> pointers;
  for (std::string &word : words) pointers.push_back(&word[0]);
  pointers.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  char **argv = pointers.data();
  ParseCommandLineNonHelpFlags(&argc, &argv, false);
}
/* Does nothing: the registry belongs to the process. */
PD__LAZY void ShutDownCommandLineFlags() {}

/* What DEFINE_<type> uses in gflags: a flag whose variables the program makes itself. */
class FlagRegisterer {
 public:
  template <typename T>
  PD__LOCAL FlagRegisterer(const char *name, const char *help, const char *file, T *current,
                           T *fallback) {
    detail_::define<T>(name, help, file, current, fallback);
  }
};

}  // namespace GFLAGS_NAMESPACE

#endif /* PD_FLAGS_GFLAGS_API_HPP */
