/* The built-in flags of gflags: --help and the like, --flagfile, --fromenv, --tryfromenv and
 * --undefok. The registry has no flags of these names, so they are variables of the program: it
 * may set FLAGS_flagfile, for example, before it parses. */
#ifndef PD_FLAGS_GFLAGS_WORDS_HPP
#define PD_FLAGS_GFLAGS_WORDS_HPP

#include <pd_flags/gflags_define.hpp>

#include <string>
#include <vector>

/* Every file that includes this defines them; the linker keeps one of each. */
#if defined(PD__MERGED)
#define PD__GFLAGS_ONCE inline
#elif defined(_WIN32)
#define PD__GFLAGS_ONCE __attribute__((selectany))
#else
#define PD__GFLAGS_ONCE __attribute__((weak))
#endif

/* `kind` of a row chooses the macro: it is pasted to the name. The texts are made as those of
 * PD__ASSIGNABLE_TEXT are, but by one function, since each costs a file that includes this. */
#define PD__GFLAGS_INDEX_TEXT(name) pd__word_FLAGS_##name,
#define PD__GFLAGS_INDEX_SWITCH(name)
#define PD__GFLAGS_INDEX_NUMBER(name)
#define PD__GFLAGS_INDEX(kind, name, ...) PD__GFLAGS_INDEX_##kind(name)
#define PD__GFLAGS_CELL_TEXT(value) {{0}, {0}, value, nullptr, 0, nullptr},
#define PD__GFLAGS_CELL_SWITCH(value)
#define PD__GFLAGS_CELL_NUMBER(value)
#define PD__GFLAGS_CELL(kind, name, file, help, value) PD__GFLAGS_CELL_##kind(value)
namespace fLS {
enum pd__word { PD__GFLAGS_WORD_MAP(PD__GFLAGS_INDEX) pd__word_count };
extern PD__LOCAL ::pd::detail::text_cell pd__words[pd__word_count];
PD__GFLAGS_ONCE ::pd::detail::text_cell pd__words[] = {PD__GFLAGS_WORD_MAP(PD__GFLAGS_CELL)};
__attribute__((constructor(101), used)) PD__HELPER void pd__make_words(void) {
  for (::pd::detail::text_cell &each : pd__words) ::pd::detail::text_make(each);
}
}  // namespace fLS

#define PD__GFLAGS_MAKE_TEXT(flag, value)                                                \
  namespace fLS {                                                                        \
  PD__GFLAGS_ONCE clstring &flag =                                                       \
      reinterpret_cast<clstring &>(pd__words[pd__word_##flag].current);                  \
  }
#define PD__GFLAGS_MAKE_PLAIN(scope, type, flag, value)                                  \
  namespace scope {                                                                      \
  PD__GFLAGS_ONCE type flag = value;                                                     \
  }
#define PD__GFLAGS_MAKE_SWITCH(...) PD__GFLAGS_MAKE_PLAIN(fLB, bool, __VA_ARGS__)
#define PD__GFLAGS_MAKE_NUMBER(...) PD__GFLAGS_MAKE_PLAIN(fLI, int32_t, __VA_ARGS__)
#define PD__GFLAGS_MAKE(kind, name, file, help, value) PD__GFLAGS_MAKE_##kind(FLAGS_##name, value)
PD__GFLAGS_WORD_MAP(PD__GFLAGS_MAKE)

namespace pd {
namespace gflags_detail PD__LOCAL {

struct word {
  const char *name;
  pd_type type;
  void *variable;
  const char *file; /* as in gflags, for --helpon=gflags */
  const char *help;
  std::string fallback; /* its default */
  bool given;
};

#define PD__GFLAGS_ROW(kind_type, text, name, variable, file, help) \
  {name, kind_type, variable, "gflags/gflags" file ".cc", help, text, false},
#define PD__GFLAGS_ROW_TEXT(value, ...) PD__GFLAGS_ROW(PD_TYPE_string, value, __VA_ARGS__)
#define PD__GFLAGS_ROW_SWITCH(value, ...) PD__GFLAGS_ROW(PD_TYPE_bool, #value, __VA_ARGS__)
#define PD__GFLAGS_ROW_NUMBER(value, ...) PD__GFLAGS_ROW(PD_TYPE_int32, #value, __VA_ARGS__)
#define PD__GFLAGS_WORD(kind, name, file, help, value) \
  PD__GFLAGS_ROW_##kind(value, #name, &PD__GFLAGS_SCOPE_##kind::FLAGS_##name, file, help)

PD__LAZY std::vector<word> &words() {
  static std::vector<word> list = {PD__GFLAGS_WORD_MAP(PD__GFLAGS_WORD)};
  return list;
}

PD__LAZY word *find_word(const std::string &name) {
  for (word &each : words()) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

}  // namespace gflags_detail
}  // namespace pd

#endif /* PD_FLAGS_GFLAGS_WORDS_HPP */
