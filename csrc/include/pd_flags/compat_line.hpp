/* What the command lines of the headers in compat/ have in common: their grammars are translated
 * into tokens for pd_parse_argv, so that a command line takes effect as a whole or not at all, and
 * errors name the nearest flag. */
#ifndef PD_FLAGS_COMPAT_LINE_HPP
#define PD_FLAGS_COMPAT_LINE_HPP

#include <pd_flags/assignable.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace pd {
namespace detail {

/* A command line for pd_parse_argv: tokens[i] stands for argv[i]. It is "" if argv[i] is no flag,
 * or was joined with the token before it. */
struct PD__LOCAL compat_line {
  std::vector<std::string> tokens;
  std::vector<std::string> errors;
};

PD__LAZY compat_line compat_line_of(int argc, char **argv) {
  compat_line line;
  pd_program program = detail::sized<pd_program>();
  program.argc = argc;
  program.argv = argv;
  pd_program_set(&program, nullptr); /* without memory, it can't be queried */
  line.tokens.assign(static_cast<size_t>(argc), std::string());
  if (argc > 0) line.tokens[0] = argv[0];
  return line;
}

/* pd_parse_argv treats this as a request for help; these command lines treat it as a flag. */
PD__LAZY std::string help_refused(const pd_help &help) {
#define PD__HELP_WORD(name, number, text) \
  if (help.kind == PD_HELP_##name) return "--" text ": no such flag";
  PD_HELP_MAP(PD__HELP_WORD)
#undef PD__HELP_WORD
  return "no such flag";
}

/* A value that the program set or assigned, or a live one, has a higher rank than the command line,
 * and would hide its value. In the libraries that these headers replace, the later value takes
 * effect. */
PD__LAZY void compat_prevail(compat_line &line, const std::string &name) {
  pd_flag *flag = nullptr;
  pd_flag_info info = detail::sized<pd_flag_info>();
  if (pd_flag_find(name.c_str(), &flag, nullptr) != PD_OK) return;
  if (pd_flag_get_info(flag, &info, nullptr) != PD_OK) return;
  if (pd_source_rank(info.source) != pd_source_rank(PD_SOURCE_RUNTIME)) return;
  bool live = info.source == PD_SOURCE_LIVE;
  pd_error err; /* a validator may reject the value that was hidden */
  pd_flag_drop(flag, live ? PD_SOURCE_RUNTIME : PD_SOURCE_LIVE, nullptr); /* the hidden one first */
  if (pd_flag_drop(flag, info.source, &err) != PD_OK) line.errors.push_back(err.message);
}

/* `token` is --name=value, or a list of names after --fromenv= or --tryfromenv=. */
PD__LAZY void compat_prevail_all(compat_line &line, const std::string &token) {
  size_t equals = token.find('=');
  if (token.size() < 3 || equals == std::string::npos) return;
  std::string name = token.substr(2, equals - 2);
  if (name != "fromenv" && name != "tryfromenv") return compat_prevail(line, name);
  for (size_t at = equals + 1, comma; at < token.size(); at = comma + 1) {
    comma = detail::least(token.find(',', at), token.size());
    name = token.substr(at, comma - at);
    if (std::getenv(("FLAGS_" + name).c_str())) compat_prevail(line, name);
  }
}

/* Returns true if all tokens took effect. Otherwise, or if there were errors before, none did, and
 * `errors` says why. */
PD__LAZY bool compat_line_apply(compat_line &line, bool allow_pending) {
  refused_definitions(line.errors);
  if (!line.errors.empty()) return false;
  std::vector<char *> argv;
  for (std::string &token : line.tokens) argv.push_back(&token[0]);
  argv.push_back(nullptr);
  int argc = static_cast<int>(line.tokens.size());
  pd_help help = detail::sized<pd_help>();
  pd_error err;
  pd_parse_options options = detail::sized<pd_parse_options>();
  options.arrange = PD_ARRANGE_LEAVE;
  options.allow_pending = allow_pending;
  options.errors = pd_error_list_new();
  options.help = &help;
  pd_status status = pd_parse_argv(&argc, argv.data(), &options, &err);
  take_messages(options.errors, line.errors);
  if (status == PD_HELP) line.errors.push_back(help_refused(help));
  if (status != PD_OK && line.errors.empty()) line.errors.push_back(err.message);
  if (!line.errors.empty()) return false;
  for (size_t i = 1; i < line.tokens.size(); i++) compat_prevail_all(line, line.tokens[i]);
  return line.errors.empty();
}

/* The parts of a flag that the help of these libraries shows. */
struct PD__LOCAL compat_flag {
  std::string name;
  std::string help;
  std::string file;
  std::string category;
  std::string value; /* the default */
  pd_type type;
};

/* The flags of the process that aren't hidden. */
PD__LAZY std::vector<compat_flag> compat_flags() {
  std::vector<compat_flag> all;
  pd_flag *flag = nullptr;
  while ((flag = pd_flag_next(flag)) != nullptr) {
    pd_flag_info info = detail::sized<pd_flag_info>();
    if (pd_flag_get_info(flag, &info, nullptr) != PD_OK || info.hidden) continue;
    std::string value = value_text(info.type, info.default_value, 6);
    all.push_back({info.name, info.help, info.file, info.category,
                   info.sensitive ? "(not shown)" : value, info.type});
  }
  return all;
}

}  // namespace detail
}  // namespace pd

#endif /* PD_FLAGS_COMPAT_LINE_HPP */
