/* Reads a command line, and the files and variables that it names, as gflags does: a value takes
 * effect as soon as it is read, and errors are reported at the end. */
#ifndef PD_FLAGS_GFLAGS_LINE_HPP
#define PD_FLAGS_GFLAGS_LINE_HPP

#include <pd_flags/gflags_report.hpp>

#if defined(__has_include)
#if __has_include(<fnmatch.h>)
#include <fnmatch.h>
#define PD__GFLAGS_PATTERNS
#endif
#endif

namespace pd {
namespace gflags_detail PD__LOCAL {

/* True once AllowCommandLineReparsing was called. */
PD__LAZY bool &may_come_later() {
  static bool allowed = false;
  return allowed;
}

PD__LAZY void end_with(const std::string &message) {
  std::fputs(message.c_str(), stderr);
  gf::gflags_exitfunc(1);
}

PD__LAZY std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> items;
  for (size_t at = 0; at < list.size();) {
    size_t comma = detail::least(list.find(',', at), list.size());
    std::string item = list.substr(at, comma - at);
    if (item.empty()) end_with("ERROR: empty flaglist entry\n");
    if (item[0] == '-') end_with("ERROR: flag \"" + item + "\" begins with '-'\n");
    items.push_back(item);
    at = comma + 1;
  }
  return items;
}

PD__LAZY std::string read_file(const char *path) {
  std::string text;
  char part[4096];
  FILE *file = std::fopen(path, "r");
  for (size_t count; file && (count = std::fread(part, 1, sizeof part, file)) > 0;) {
    text.append(part, count);
  }
  bool failed = !file || std::ferror(file);
  if (failed) std::perror(path);
  if (file) std::fclose(file);
  if (failed) gf::gflags_exitfunc(1);
  return text;
}

/* Returns whether a flagfile's line without a dash names this program. */
PD__LAZY bool names_program(const std::string &line) {
  const char *names[] = {program_name(), program_short_name()};
  for (size_t at = 0; at < line.size();) {
    size_t blank = detail::least(line.find(' ', at), line.size());
    std::string pattern = line.substr(at, blank - at);
    for (const char *name : names) {
      if (pattern == name) return true;
#ifdef PD__GFLAGS_PATTERNS
      if (fnmatch(pattern.c_str(), name, FNM_PATHNAME) == 0) return true;
#endif
    }
    at = blank + 1;
  }
  return false;
}

/* A token of a command line, split into its parts. */
struct argument_of_line {
  handle flag;
  std::string name;  /* as written; for --noname, the flag's */
  std::string value; /* for --name=value, and for a bool */
  bool has_value;
  std::string error; /* if there is no such flag */
};

/* `text` has no leading dashes. */
PD__LAZY argument_of_line take_apart(const std::string &text) {
  argument_of_line made = {{nullptr, nullptr}, text, "", false, ""};
  size_t equals = text.find('=');
  if (equals != std::string::npos) {
    made.name = text.substr(0, equals);
    made.value = text.substr(equals + 1);
    made.has_value = true;
  }
  made.flag = find(made.name);
  if (made.flag.exists()) {
    bool implied = !made.has_value && type_of_flag(made.flag) == PD_TYPE_bool;
    if (implied) made.value = "1";
    made.has_value = made.has_value || implied;
    return made;
  }
  handle negated = {nullptr, nullptr};
  if (made.name.compare(0, 2, "no") == 0) negated = find(made.name.substr(2));
  if (!negated.exists()) {
    made.error = "ERROR: unknown command line flag '" + made.name + "'\n";
  } else if (type_of_flag(negated) != PD_TYPE_bool) {
    made.error = "ERROR: boolean value (" + made.name + ") specified for " +
                 pd_type_name(type_of_flag(negated)) + " command line flag\n";
  } else {
    made.flag = negated;
    made.name.erase(0, 2);
    made.value = "0";
    made.has_value = true;
  }
  return made;
}

/* A text with a dash for a flag whose help mentions true or false: probably the next flag. */
PD__LAZY void doubt(const argument_of_line &found) {
  std::string help = help_of(found.flag);
  bool like_a_bool =
      help.find("true") != std::string::npos || help.find("false") != std::string::npos;
  if (found.value[0] != '-' || !like_a_bool || type_of_flag(found.flag) != PD_TYPE_string) return;
  std::fprintf(stderr, "Did you really mean to set flag '%s' to the value '%s'?\n",
               name_of(found.flag).c_str(), found.value.c_str());
}

template <class = void>
class reader {
 public:
  /* Of a line; PD_SOURCE_RUNTIME for what a function of the program says. */
  PD__LOCAL explicit reader(pd_source source) : source_(source), depth_(0) {}

  /* Returns the index of the first argument. */
  PD__LOCAL int read_line(int *argc, char ***argv, bool remove) {
    char **words = *argv;
    int first = *argc, moved = 0; /* arguments are moved after the flags */
    for (int i = 1; i < first; i++) {
      char *word = words[i];
      if (word[0] != '-' || word[1] == '\0') {
        size_t behind = static_cast<size_t>(*argc - (i + 1));
        __builtin_memmove(words + i, words + i + 1, behind * sizeof *words);
        words[*argc - 1] = word;
        first--;
        i--;
        moved++;
        continue;
      }
      const char *name = word + (word[1] == '-' ? 2 : 1);
      if (*name == '\0') {
        first = i + 1;
        break;
      }
      argument_of_line found = take_apart(name);
      if (!found.flag.exists()) {
        fail(found.name, found.error, remark::undefined);
        continue;
      }
      pd_origin origin = {source_, static_cast<uint32_t>(i + moved), nullptr, 0};
      if (!found.has_value) {
        if (i + 1 >= first && lacks_value(found, word)) break;
        found.value = words[++i];
        doubt(found);
      }
      take(found.flag, found.value, gf::SET_FLAGS_VALUE, origin);
    }
    if (!remove) return first;
    words[first - 1] = words[0];
    *argv += first - 1;
    *argc -= first - 1;
    return 1;
  }

  /* Set a flag, and carry it out if it is built in. Returns "" after an error. */
  PD__LOCAL std::string take(const handle &of, const std::string &value,
                                    FlagSettingMode mode, const pd_origin &origin) {
    std::string message, name = name_of(of);
    if (!set(of, value, mode, origin, &message)) {
      fail(name, message);
      return "";
    }
    if (!of.own || mode == gf::SET_FLAGS_DEFAULT) return message;
    if (name == "flagfile") message += read_files(fLS::FLAGS_flagfile, mode);
    if (name == "fromenv") message += read_variables(fLS::FLAGS_fromenv, mode, true);
    if (name == "tryfromenv") message += read_variables(fLS::FLAGS_tryfromenv, mode, false);
    return message;
  }

  /* Skips flags that are not defined. */
  PD__LOCAL std::string read_text(const std::string &text, const char *path,
                                         FlagSettingMode mode) {
    std::string messages;
    bool ours = true, naming = false; /* flags below names are for those programs */
    uint32_t number = 0;
    for (size_t at = 0; at < text.size();) {
      size_t end = detail::least(text.find_first_of("\r\n", at), text.size());
      size_t begin = detail::least(text.find_first_not_of(" \t\v\f", at), end);
      std::string line = text.substr(begin, end - begin);
      at = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
      number++;
      if (line.empty() || line[0] == '#') continue;
      if (line[0] != '-') {
        ours = (naming && ours) || names_program(line);
        naming = true;
        continue;
      }
      naming = false;
      if (!ours) continue;
      argument_of_line found = take_apart(line.substr(line.compare(0, 2, "--") == 0 ? 2 : 1));
      pd_origin origin = {source_, number, path, 0};
      if (found.flag.exists() && found.has_value) {
        messages += take(found.flag, found.value, mode, origin);
      }
    }
    return messages;
  }

  /* Validate the values that were not set. */
  PD__LOCAL void validate() {
    if (pd_flags_validate(nullptr, nullptr) == PD_OK) return;
    for (pd_flag *flag = nullptr; (flag = pd_flag_next(flag)) != nullptr;) {
      pd_flag_info info = info_of(flag);
      if (info.source != PD_SOURCE_DEFAULT) continue;
      std::string text = text_of({flag, nullptr}, true);
      bool refused = pd_flag_set_default(flag, text.c_str(), nullptr) == PD_ERR_REFUSED;
      if (refused || info.required) complain_of_default({flag, nullptr});
    }
  }

  /* Print the errors, and return whether there were any. */
  PD__LOCAL bool report() {
    std::string text = error_text();
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    return !text.empty();
  }

  PD__LOCAL std::string read_files(const std::string &list, FlagSettingMode mode) {
    std::string messages;
    for (const std::string &path : split(list)) {
      if (depth_ == deepest) {
        fail(path, "ERROR: " + path + ": flagfiles are nested too deeply\n");
        return messages;
      }
      depth_++;
      messages += read_text(read_file(path.c_str()), path.c_str(), mode);
      depth_--;
    }
    return messages;
  }

  PD__LOCAL std::string read_variables(const std::string &list, FlagSettingMode mode,
                                              bool required) {
    std::string messages;
    for (const std::string &name : split(list)) {
      std::string variable = "FLAGS_" + name;
      const char *value = std::getenv(variable.c_str());
      handle flag = find(name);
      if (!flag.exists()) {
        std::string error = "ERROR: unknown command line flag '" + name;
        fail(name, error + "' (via --fromenv or --tryfromenv)\n", remark::undefined);
      } else if (!value) {
        if (required) fail(name, "ERROR: " + variable + " not found in environment\n");
      } else if (depth_ == deepest || !__builtin_strcmp(value, "fromenv") ||
                 !__builtin_strcmp(value, "tryfromenv")) {
        std::string error = "ERROR: infinite recursion on environment flag '";
        fail(name, error + value + "'\n");
      } else {
        pd_origin origin = {source_, 0, variable.c_str(), 0};
        depth_++;
        messages += take(flag, value, mode, origin);
        depth_--;
      }
    }
    return messages;
  }

 private:
  /* A file that includes itself ends here. */
  enum { deepest = 16 };

  PD__LOCAL bool lacks_value(const argument_of_line &found, const char *word) {
    std::string help = help_of(found.flag);
    std::string more = help.empty() || help[0] <= '\001' ? "" : "; flag description: " + help;
    fail(found.name, std::string("ERROR: flag '") + word + "' is missing its argument" + more + "\n");
    return true;
  }

  PD__LOCAL void complain_of_default(const handle &of) {
    fail(name_of(of),
         "ERROR: --" + name_of(of) +
             " must be set on the commandline (default value fails validation)\n",
         remark::bad_default);
  }

  /* What is reported about a name. */
  struct remark {
    enum kind { error, undefined, bad_default, allowed };
    std::string name;
    std::string text;
    kind what;
  };
  PD__LOCAL void fail(const std::string &name, const std::string &text,
                      typename remark::kind what = remark::error) {
    remarks_.push_back({name, text, what});
  }
  PD__LOCAL static int compare(const void *a, const void *b) {
    const remark *first = *static_cast<const remark *const *>(a);
    const remark *other = *static_cast<const remark *const *>(b);
    int order = first->name.compare(other->name);
    return order != 0 ? order : first < other ? -1 : 1;
  }

  /* The errors by name. The last error of a name counts, and that of its default only if there is
   * no other. Names in --undefok, and of modules that may be loaded later, aren't errors. */
  PD__LOCAL std::string error_text() {
    for (const std::string &name : split(fLS::FLAGS_undefok)) {
      fail(name, "", remark::allowed);
      fail("no" + name, "", remark::allowed);
    }
    std::vector<const remark *> order;
    for (const remark &each : remarks_) order.push_back(&each);
    if (!order.empty()) std::qsort(order.data(), order.size(), sizeof order[0], compare);
    std::string all;
    for (size_t i = 0; i < order.size();) {
      const remark *error = nullptr;
      bool undefined = false, allowed = may_come_later();
      const std::string &name = order[i]->name;
      for (; i < order.size() && order[i]->name == name; i++) {
        undefined = undefined || order[i]->what == remark::undefined;
        allowed = allowed || order[i]->what == remark::allowed;
        if (order[i]->what == remark::allowed) continue;
        if (!error || order[i]->what != remark::bad_default) error = order[i];
      }
      if (error && !(undefined && allowed)) all += error->text;
    }
    return all;
  }

  pd_source source_;
  int depth_; /* of nested files and variables */
  std::vector<remark> remarks_;
};

/* ---- The program's line ---- */

PD__LAZY void keep_line(int argc, const char **argv) {
  pd_program made = program();
  if (made.argv || argc <= 0) return; /* only the first call counts */
  made.argc = argc;
  made.argv = argv;
  made.usage = made.version = nullptr;
  pd_program_set(&made, nullptr);
}

PD__LAZY bool report_refused() {
  std::vector<std::string> errors;
  detail::refused_definitions(errors);
  for (const std::string &error : errors) std::fprintf(stderr, "ERROR: %s\n", error.c_str());
  return !errors.empty();
}

PD__LAZY uint32_t parse(int *argc, char ***argv, bool remove, bool help) {
  keep_line(*argc, const_cast<const char **>(*argv));
  if (!pd_version()) {
    end_with("ERROR: this process has no registry of flags: link libpd_flags, or load it\n");
  }
  if (report_refused()) gf::gflags_exitfunc(1);
  reader<> reads(PD_SOURCE_ARGV);
  reads.read_files(fLS::FLAGS_flagfile, gf::SET_FLAGS_VALUE);
  reads.read_variables(fLS::FLAGS_fromenv, gf::SET_FLAGS_VALUE, true);
  reads.read_variables(fLS::FLAGS_tryfromenv, gf::SET_FLAGS_VALUE, false);
  int first = reads.read_line(argc, argv, remove);
  if (help) {
    complete();
    show_what_was_asked_for();
  }
  reads.validate();
  if (reads.report()) gf::gflags_exitfunc(1);
  return static_cast<uint32_t>(first);
}

}  // namespace gflags_detail
}  // namespace pd

#endif /* PD_FLAGS_GFLAGS_LINE_HPP */
