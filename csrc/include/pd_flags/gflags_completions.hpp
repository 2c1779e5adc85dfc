/* --tab_completion_word: completes the beginning of a flag. */
#ifndef PD_FLAGS_GFLAGS_COMPLETIONS_HPP
#define PD_FLAGS_GFLAGS_COMPLETIONS_HPP

#include <pd_flags/gflags_report.hpp>

namespace pd {
namespace gflags_detail PD__LOCAL {

/* What the user searches for. A `?` after the text matches it anywhere in a name, a second one
 * also in the path of the source, a third one also in the help; a `+` shows all matches. */
struct wanted {
  std::string text;
  int wide;
  bool all;
};

PD__LAZY wanted look_at(const std::string &word) {
  wanted made = {word, 0, false};
  size_t begin = !word.empty() && word[0] == '"' ? 1 : 0;
  while (begin < word.size() && word[begin] == '-') begin++;
  made.text.erase(0, begin);
  while (!made.text.empty()) {
    char last = made.text[made.text.size() - 1];
    bool question = last == '?' && made.wide < 3, plus = last == '+' && !made.all;
    if (!question && !plus) break;
    made.wide += question;
    made.all = made.all || plus;
    made.text.erase(made.text.size() - 1);
  }
  return made;
}

PD__LAZY bool is_wanted(const CommandLineFlagInfo &flag, const wanted &look) {
  const std::string &text = look.text;
  if (flag.name.compare(0, text.size(), text) == 0) return true;
  return (look.wide > 0 && flag.name.find(text) != std::string::npos) ||
         (look.wide > 1 && flag.filename.find(text) != std::string::npos) ||
         (look.wide > 2 && flag.description.find(text) != std::string::npos);
}

PD__LAZY std::string common_beginning(const std::vector<CommandLineFlagInfo> &flags) {
  std::string common = flags.empty() ? "" : flags[0].name;
  for (const CommandLineFlagInfo &flag : flags) {
    while (flag.name.compare(0, common.size(), common) != 0) common.pop_back();
  }
  return common;
}

/* Name, default, and as much of the help as fits in a line. */
PD__LAZY std::string completion_line(const CommandLineFlagInfo &flag) {
  const char *quote = flag.type == "string" ? "'" : "";
  std::string line = "--" + flag.name + " [" + quote + flag.default_value + quote + "] ";
  int32_t wide = fLI::FLAGS_tab_completion_columns;
  size_t columns = wide > 4 ? static_cast<size_t>(wide) : 4;
  size_t room = line.size() < columns ? columns - line.size() : 0;
  if (flag.description.size() <= room) return line + flag.description;
  return room < 4 ? line : line + flag.description.substr(0, room - 3) + "...";
}

PD__LAZY void show_completions() {
  const size_t most = 98; /* shells ask before they list more */
  wanted look = look_at(fLS::FLAGS_tab_completion_word);
  std::vector<CommandLineFlagInfo> found;
  for (const CommandLineFlagInfo &flag : all_flags()) {
    if (is_wanted(flag, look) && is_shown(flag)) found.push_back(flag);
  }
  std::string common = common_beginning(found), text;
  if (common.size() > look.text.size()) {
    print("--" + common);
    return;
  }
  for (size_t i = 0; i < found.size() && (look.all || i < most); i++) {
    text += completion_line(found[i]) + "\n";
  }
  if (!look.all && found.size() > most) text += "~ (Remaining flags hidden) ~\n";
  /* Without a common prefix the shell leaves the text as it is. */
  if (!found.empty() && (look.all || found.size() <= most)) text += "~\n";
  print(text);
}

PD__LAZY void complete() {
  if (fLS::FLAGS_tab_completion_word.empty()) return;
  show_completions();
  gf::gflags_exitfunc(0);
}

}  // namespace gflags_detail
}  // namespace pd

#endif /* PD_FLAGS_GFLAGS_COMPLETIONS_HPP */
