/* The definitions of compat/gflags/gflags.h: assignable variables, each with a place for
 * the one validator that gflags lets a flag have. */
#ifndef PD_FLAGS_GFLAGS_DEFINE_HPP
#define PD_FLAGS_GFLAGS_DEFINE_HPP

#include <pd_flags/assignable.hpp>
#include <pd_flags/catching.hpp>

/* For the checks of the macros; none of them has a body. */
namespace fLB {
template <typename From>
double IsBoolFlag(const From &from);
bool IsBoolFlag(bool from);
}  // namespace fLB
namespace fLS {
char dont_pass0toDEFINE_string(const char *value);
char dont_pass0toDEFINE_string(const std::string &value);
char dont_pass0toDEFINE_string(int) = delete;
}  // namespace fLS

namespace pd {
namespace gflags_detail PD__LOCAL {

/* The context of a flag's definition. Needs no initialiser: it may be given a validator
 * before any has run. */
struct checker {
  const char *name;     /* as it was defined: a registry may know it by a longer one */
  void (*function)();   /* bool (*)(const char *, T), or NULL */
  const void *variable; /* these two for those that a FlagRegisterer has made */
  checker *next;
  const void *(*where)(); /* what FLAGS_x of a string refers to */
};

/* A library with a real gflags that defines a string flag of the same name makes FLAGS_x
 * refer to its own string, which no registry of ours follows. That is told and ends the
 * program: so the reference is writable, and weak, or the compiler would know it. */
#ifdef __ELF__
#define PD__GFLAGS_WRITABLE __attribute__((section(".data.pd_flags_text"), weak))
#else
#define PD__GFLAGS_WRITABLE
#endif

template <class T>
struct type_of;
template <>
struct type_of<bool> : detail::type_bool {};
template <>
struct type_of<int32_t> : detail::type_int32 {};
template <>
struct type_of<uint32_t> : detail::type_uint32 {};
template <>
struct type_of<int64_t> : detail::type_int64 {};
template <>
struct type_of<uint64_t> : detail::type_uint64 {};
template <>
struct type_of<double> : detail::type_double {};
template <>
struct type_of<std::string> {
  static constexpr pd_type type = PD_TYPE_string;
};

/* What gflags hands to a validator. */
template <class T>
struct argument {
  using type = T;
};
template <>
struct argument<std::string> {
  using type = const std::string &;
};

/* The member of `value` that has a T. */
PD__INLINE bool value_as(const pd_value &value, bool) { return value.b; }
PD__INLINE int32_t value_as(const pd_value &value, int32_t) {
  return static_cast<int32_t>(value.i64);
}
PD__INLINE uint32_t value_as(const pd_value &value, uint32_t) {
  return static_cast<uint32_t>(value.u64);
}
PD__INLINE int64_t value_as(const pd_value &value, int64_t) { return value.i64; }
PD__INLINE uint64_t value_as(const pd_value &value, uint64_t) { return value.u64; }
PD__INLINE double value_as(const pd_value &value, double) { return value.f64; }
PD__LOCAL inline std::string value_as(const pd_value &value, const std::string &) {
  return value.str;
}

template <class T>
PD__LOCAL bool accepts(const checker &check, const T &value) {
  using function = bool (*)(const char *, typename argument<T>::type);
  return !check.function || reinterpret_cast<function>(check.function)(check.name, value);
}

/* The pd_validator of every flag. */
template <class T>
PD__LOCAL bool validate(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  const checker &check = *static_cast<const checker *>(context);
  return detail::ask_catching(why, size, [&] {
    return !check.function || accepts<T>(check, value_as(entries[0]->value, T()));
  });
}

}  // namespace gflags_detail
}  // namespace pd

#define PD__GFLAGS_ATTRIBUTES(T, flag)                                                   \
  .hidden = PD__GFLAGS_STRIPPED, .validate = ::pd::gflags_detail::validate<T>,           \
  .context = &pd__checker_##flag

#define PD__GFLAGS_VARIABLE(scope, T, tag, flag, text, value, help)                      \
  namespace scope {                                                                      \
  static ::pd::gflags_detail::checker pd__checker_##flag = {text, nullptr, nullptr, nullptr, \
                                                            nullptr};                    \
  PD__ASSIGNABLE(tag, flag, text, GFLAGS_DLL_DEFINE_FLAG, value, help,                   \
                 PD__GFLAGS_ATTRIBUTES(T, flag))                                         \
  }                                                                                      \
  using scope::flag

#define PD__GFLAGS_VARIABLE_B(flag, text, value, help)                                   \
  PD__GFLAGS_VARIABLE(fLB, bool, bool, flag, text, value, help)
#define PD__GFLAGS_VARIABLE_I(flag, text, value, help)                                   \
  PD__GFLAGS_VARIABLE(fLI, int32_t, int32, flag, text, value, help)
#define PD__GFLAGS_VARIABLE_U(flag, text, value, help)                                   \
  PD__GFLAGS_VARIABLE(fLU, uint32_t, uint32, flag, text, value, help)
#define PD__GFLAGS_VARIABLE_I64(flag, text, value, help)                                 \
  PD__GFLAGS_VARIABLE(fLI64, int64_t, int64, flag, text, value, help)
#define PD__GFLAGS_VARIABLE_U64(flag, text, value, help)                                 \
  PD__GFLAGS_VARIABLE(fLU64, uint64_t, uint64, flag, text, value, help)
#define PD__GFLAGS_VARIABLE_D(flag, text, value, help)                                   \
  PD__GFLAGS_VARIABLE(fLD, double, double, flag, text, value, help)
#define PD__GFLAGS_VARIABLE_S(flag, text, value, help)                                   \
  static_assert(sizeof(::fLS::dont_pass0toDEFINE_string(value)) > 0, "");                \
  namespace fLS {                                                                        \
  static const void *pd__where_##flag();                                                 \
  static ::pd::gflags_detail::checker pd__checker_##flag = {text, nullptr, nullptr, nullptr, \
                                                            pd__where_##flag};           \
  PD__ASSIGNABLE_TEXT(flag, text, GFLAGS_DLL_DEFINE_FLAG PD__GFLAGS_WRITABLE, value, help, \
                      PD__GFLAGS_ATTRIBUTES(std::string, flag))                          \
  static const void *pd__where_##flag() { return &flag; }                                \
  }                                                                                      \
  using fLS::flag

#endif /* PD_FLAGS_GFLAGS_DEFINE_HPP */
