/* The words that gflags has flags for: --help and its like, --flagfile, --fromenv,
 * --tryfromenv, --undefok. The registry knows no flags of these names, so they are
 * variables of the program: a program sets FLAGS_flagfile before it parses. */
#ifndef PD_FLAGS_GFLAGS_WORDS_HPP
#define PD_FLAGS_GFLAGS_WORDS_HPP

#include <pd_flags/gflags_define.hpp>

/* Every file that includes this has them; the linker keeps one of each. */
#ifdef _WIN32
#define PD__GFLAGS_ONCE __attribute__((selectany))
#else
#define PD__GFLAGS_ONCE __attribute__((weak))
#endif

#define PD__GFLAGS_WORD(scope, type, flag, value)                                        \
  namespace scope {                                                                      \
  PD__GFLAGS_ONCE type flag = value;                                                     \
  }

#define PD__GFLAGS_TEXT(flag)                                                            \
  namespace fLS {                                                                        \
  extern PD__LOCAL ::pd::detail::text_cell pd__word_##flag;                              \
  PD__GFLAGS_ONCE ::pd::detail::text_cell pd__word_##flag = {{0}, {0}, "", nullptr, 0};  \
  PD__GFLAGS_ONCE clstring &flag = reinterpret_cast<clstring &>(pd__word_##flag.current);    \
  __attribute__((constructor(101), used)) static void pd__make_##flag(void) {            \
    ::pd::detail::text_make(pd__word_##flag);                                            \
  }                                                                                      \
  }

PD__GFLAGS_TEXT(FLAGS_flagfile)
PD__GFLAGS_TEXT(FLAGS_fromenv)
PD__GFLAGS_TEXT(FLAGS_tryfromenv)
PD__GFLAGS_TEXT(FLAGS_undefok)
PD__GFLAGS_WORD(fLB, bool, FLAGS_help, false)
PD__GFLAGS_WORD(fLB, bool, FLAGS_helpfull, false)
PD__GFLAGS_WORD(fLB, bool, FLAGS_helpshort, false)
PD__GFLAGS_TEXT(FLAGS_helpon)
PD__GFLAGS_TEXT(FLAGS_helpmatch)
PD__GFLAGS_WORD(fLB, bool, FLAGS_helppackage, false)
PD__GFLAGS_WORD(fLB, bool, FLAGS_helpxml, false)
PD__GFLAGS_WORD(fLB, bool, FLAGS_version, false)
PD__GFLAGS_TEXT(FLAGS_tab_completion_word)
PD__GFLAGS_WORD(fLI, int32_t, FLAGS_tab_completion_columns, 80)

namespace pd {
namespace gflags_detail PD__LOCAL {

struct word {
  const char *name;
  pd_type type;
  void *variable;
  const char *file; /* as gflags shows it: users ask for --helpon=gflags */
  const char *help;
  std::string fallback; /* its default */
  bool given;
};

struct word_list {
  word *begin() { return all; }
  word *end() { return all + sizeof all / sizeof *all; }
  word all[14];
};

PD__LOCAL inline word_list &words() {
  static const char parsing[] = "gflags/gflags.cc", reporting[] = "gflags/gflags_reporting.cc";
  static const char completing[] = "gflags/gflags_completions.cc";
  static word_list list = {{
      {"flagfile", PD_TYPE_string, &fLS::FLAGS_flagfile, parsing,
       "read flags from these files, separated by commas", "", false},
      {"fromenv", PD_TYPE_string, &fLS::FLAGS_fromenv, parsing,
       "take the values of these flags from the environment, where FLAGS_name holds "
       "that of name", "", false},
      {"tryfromenv", PD_TYPE_string, &fLS::FLAGS_tryfromenv, parsing,
       "as --fromenv, but the environment need not have them", "", false},
      {"undefok", PD_TYPE_string, &fLS::FLAGS_undefok, parsing,
       "names of flags, separated by commas, that may be given though nobody defines "
       "them; such a value has to be written as --name=value", "", false},
      {"help", PD_TYPE_bool, &fLB::FLAGS_help, reporting,
       "show help on all flags", "false", false},
      {"helpfull", PD_TYPE_bool, &fLB::FLAGS_helpfull, reporting,
       "show help on all flags", "false", false},
      {"helpshort", PD_TYPE_bool, &fLB::FLAGS_helpshort, reporting,
       "show help on the flags of the program itself", "false", false},
      {"helpon", PD_TYPE_string, &fLS::FLAGS_helpon, reporting,
       "show help on the flags of the source files of this name", "", false},
      {"helpmatch", PD_TYPE_string, &fLS::FLAGS_helpmatch, reporting,
       "show help on the flags of source files with this text in their paths", "", false},
      {"helppackage", PD_TYPE_bool, &fLB::FLAGS_helppackage, reporting,
       "show help on the flags of the directory of the program's source", "false", false},
      {"helpxml", PD_TYPE_bool, &fLB::FLAGS_helpxml, reporting,
       "show help on all flags as XML", "false", false},
      {"version", PD_TYPE_bool, &fLB::FLAGS_version, reporting,
       "show the version of the program", "false", false},
      {"tab_completion_word", PD_TYPE_string, &fLS::FLAGS_tab_completion_word, completing,
       "show what this beginning of a flag may become", "", false},
      {"tab_completion_columns", PD_TYPE_int32, &fLI::FLAGS_tab_completion_columns, completing,
       "columns of what is shown of completions", "80", false},
  }};
  return list;
}

PD__LOCAL inline word *find_word(const std::string &name) {
  for (word &each : words()) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

}  // namespace gflags_detail
}  // namespace pd

#endif /* PD_FLAGS_GFLAGS_WORDS_HPP */
