/* The definitions of compat/gflags/gflags.h: assignable variables, each with room for the one
 * validator that gflags allows for a flag. */
#ifndef PD_FLAGS_GFLAGS_DEFINE_HPP
#define PD_FLAGS_GFLAGS_DEFINE_HPP

#include <pd_flags/assignable.hpp>
#include <pd_flags/catching.hpp>

/* For the macros' type checks; none has a body. */
namespace fLB {
template <typename From>
double IsBoolFlag(const From &from);
bool IsBoolFlag(bool from);
/* If a gflags.h with another include guard follows this one, it would redefine the macros with no
 * more than warnings. It defines this struct, and so fails there. */
struct two_headers_of_gflags__include_either_the_one_of_paddle_flags_or_the_other;
using CompileAssert = two_headers_of_gflags__include_either_the_one_of_paddle_flags_or_the_other;
}  // namespace fLB
namespace fLS {
char dont_pass0toDEFINE_string(const char *value);
char dont_pass0toDEFINE_string(const std::string &value);
char dont_pass0toDEFINE_string(int) = delete;
}  // namespace fLS

namespace pd {
namespace gflags_detail PD__LOCAL {

/* The context of a flag's definition. It needs no initializer: a validator may be registered before
 * any initializer has run. */
struct checker {
  const char *name;     /* as defined; with a namespace, the registry's name is longer */
  void (*function)();   /* bool (*)(const char *, T), or NULL */
  pd_validator ask;     /* calls `function`; set together with it */
  pd_hook hook;         /* in the registry, or 0 */
  const void *variable; /* these two for flags that this module doesn't define by a macro */
  checker *next;
  const void *(*where)(); /* for a string: what FLAGS_x refers to */
};

/* If a library with a real gflags defines a string flag of the same name, the loader merges the two
 * references, and gflags initializes the result: from then on, FLAGS_x refers to gflags' string,
 * and so does the registry, which follows the reference. So the reference is writable and weak:
 * otherwise, the compiler would assume its value. */
#ifdef __ELF__
#define PD__GFLAGS_WRITABLE __attribute__((section(".data.pd_flags_text"), weak))
#else
#define PD__GFLAGS_WRITABLE
#endif

/* The types that gflags passes to a validator. */
template <class T>
using argument = typename std::conditional<std::is_class<T>::value, const T &, T>::type;

template <class T>
PD__LOCAL bool accepts(const checker &check, const T &value) {
  using function = bool (*)(const char *, argument<T>);
  return !check.function || reinterpret_cast<function>(check.function)(check.name, value);
}

/* The pd_validator of a flag that has one in gflags, which it calls. */
template <class T>
PD__LOCAL bool validate(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  const checker &check = *static_cast<const checker *>(context);
  return detail::ask_catching(why, size, [&] {
    return !check.function || accepts<T>(check, detail::value_type<T>::get(entries[0]->value));
  });
}

}  // namespace gflags_detail
}  // namespace pd

#define PD__GFLAGS_ATTRIBUTES(flag)                                                   \
  .hidden = PD__GFLAGS_STRIPPED, .context = &pd__checker_##flag

#define PD__GFLAGS_VARIABLE(scope, T, tag, flag, text, value, help)                      \
  namespace scope {                                                                      \
  static ::pd::gflags_detail::checker pd__checker_##flag = {                             \
      text, nullptr, nullptr, 0, nullptr, nullptr, nullptr};                             \
  PD__ASSIGNABLE(tag, flag, text, GFLAGS_DLL_DEFINE_FLAG, , value,                       \
                 MAYBE_STRIPPED_HELP(help), PD__GFLAGS_ATTRIBUTES(flag))              \
  }                                                                                      \
  using scope::flag

#define PD__GFLAGS_VARIABLE_B(...) PD__GFLAGS_VARIABLE(fLB, bool, bool, __VA_ARGS__)
#define PD__GFLAGS_VARIABLE_I(...) PD__GFLAGS_VARIABLE(fLI, int32_t, int32, __VA_ARGS__)
#define PD__GFLAGS_VARIABLE_U(...) PD__GFLAGS_VARIABLE(fLU, uint32_t, uint32, __VA_ARGS__)
#define PD__GFLAGS_VARIABLE_I64(...) PD__GFLAGS_VARIABLE(fLI64, int64_t, int64, __VA_ARGS__)
#define PD__GFLAGS_VARIABLE_U64(...) PD__GFLAGS_VARIABLE(fLU64, uint64_t, uint64, __VA_ARGS__)
#define PD__GFLAGS_VARIABLE_D(...) PD__GFLAGS_VARIABLE(fLD, double, double, __VA_ARGS__)
#define PD__GFLAGS_VARIABLE_S(flag, text, value, help)                                   \
  static_assert(sizeof(::fLS::dont_pass0toDEFINE_string(value)) > 0, "");                \
  namespace fLS {                                                                        \
  static const void *pd__where_##flag();                                                 \
  static ::pd::gflags_detail::checker pd__checker_##flag = {                             \
      text, nullptr, nullptr, 0, nullptr, nullptr, pd__where_##flag};                    \
  PD__ASSIGNABLE_TEXT_AT(pd__where_##flag, flag, text,                                   \
                         GFLAGS_DLL_DEFINE_FLAG PD__GFLAGS_WRITABLE, , value,            \
                         MAYBE_STRIPPED_HELP(help), PD__GFLAGS_ATTRIBUTES(flag))            \
  static const void *pd__where_##flag() { return &flag; }                                \
  }                                                                                      \
  using fLS::flag

#endif /* PD_FLAGS_GFLAGS_DEFINE_HPP */
