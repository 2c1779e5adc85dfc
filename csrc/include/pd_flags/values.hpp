/* Values of the seven types in C++: PD_TYPE_MAP as templates, and values as text. */
#ifndef PD_FLAGS_VALUES_HPP
#define PD_FLAGS_VALUES_HPP

#include <pd_flags.h>

#include <clocale>
#include <cstdio>
#include <iosfwd> /* declares std::string; code that makes one includes <string> */
#include <type_traits>

namespace pd {
namespace detail {

/* std::string, which isn't complete here, as a type that depends on D: <string> costs more than all
 * of these headers. In a template that makes a string, the type is complete where the template is
 * used. */
template <class>
struct string_type {
  using type = std::string;
};
template <class D>
using string_for = typename string_type<D>::type;

/* A struct that begins with its size and is otherwise zero. */
template <class S>
PD__INLINE S sized() {
  S made = S();
  made.size = sizeof made;
  return made;
}

/* ---- Types ---- */

template <class Target, class From>
PD__INLINE constexpr Target value_cast(From value) noexcept {
  return static_cast<Target>(value);
}

/* The row of PD_TYPE_MAP with the C type T. `variable` is the type that a program may assign to.
 * converted() accepts a default as an initializer does, so the compiler warns if it doesn't fit. */
template <class T>
struct value_type;
#define PD__VALUE_TYPE(name, number, ctype, member_)                                     \
  template <>                                                                            \
  struct value_type<ctype> {                                                             \
    using value = ctype;                                                                 \
    using member = decltype(pd_value::member_);                                          \
    using variable = std::conditional<std::is_same<ctype, const char *>::value, std::string &, \
                                      ctype>::type;                                      \
    static constexpr pd_type type = PD_TYPE_##name;                                      \
    PD__INLINE static constexpr value converted(value content) noexcept { return content; } \
    PD__INLINE static value get(const pd_value &from) {                                  \
      return detail::value_cast<value>(from.member_);                                    \
    }                                                                                    \
    PD__INLINE static void put(pd_value &to, value content) { to.member_ = content; }    \
  };                                                                                     \
  using type_##name = value_type<ctype>;
PD_TYPE_MAP(PD__VALUE_TYPE)
#undef PD__VALUE_TYPE

/* The ends of the range of a number: for real numbers, the infinities. <limits> would cost each
 * source file more than the rest of these headers. */
template <class T, bool is_real = std::is_floating_point<T>::value>
struct range_of {
  static constexpr int unused_bits = sizeof(T) < 8 ? 64 - 8 * static_cast<int>(sizeof(T)) : 0;
  PD__INLINE static constexpr T high() noexcept {
    return static_cast<T>(UINT64_MAX >> (unused_bits + (std::is_signed<T>::value ? 1 : 0)));
  }
  PD__INLINE static constexpr T low() noexcept {
    return std::is_signed<T>::value ? static_cast<T>(-high() - 1) : T();
  }
};
template <class T>
struct range_of<T, true> {
  PD__INLINE static constexpr T high() noexcept { return static_cast<T>(__builtin_huge_val()); }
  PD__INLINE static constexpr T low() noexcept { return -high(); }
};

template <class T>
PD__INLINE void put(pd_value &to, T value) {
  value_type<T>::put(to, value);
}

/* ---- Text ---- */

/* std::min of sizes, without <algorithm>. */
PD__INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* A cell that is a std::string constructed elsewhere. */
template <class D = void>
PD__LOCAL const char *string_get(void *cell) {
  return static_cast<string_for<D> *>(cell)->c_str();
}
template <class D = void>
PD__LOCAL void string_put(void *cell, const char *value) {
  *static_cast<string_for<D> *>(cell) = value;
}
/* A member of a template is compiled only where it is used; each module has its own. */
template <class = void>
struct PD__LOCAL string_access {
  static const pd_cell_access value;
};
template <class Lazy>
const pd_cell_access string_access<Lazy>::value = {sizeof(pd_cell_access), string_get<Lazy>,
                                                   string_put<Lazy>, nullptr, nullptr};

/* Used instead of std::to_string, where gcc emits a unique symbol: glibc never unloads a library
 * that has one. */
template <class T>
PD__LOCAL inline const char *write_integer_to(char (&digits)[24], T value) {
  char *first = digits + sizeof digits - 1;
  bool negative = value < T();
  *first = '\0';
  do *--first = "9876543210123456789"[9 + static_cast<int>(value % 10)];
  while (value /= 10);
  if (negative) *--first = '-';
  return first;
}
template <class T>
PD__LOCAL inline string_for<T> write_integer(T value) {
  char digits[24];
  return write_integer_to(digits, value);
}

/* A double as text. */
struct double_text {
  char text[40];
};

/* With a decimal point, whatever the locale uses. */
PD__LAZY double_text write_digits(double value, int digits) {
  double_text out;
  std::snprintf(out.text, sizeof out.text, "%.*g", digits, value);
  const char *point = std::localeconv()->decimal_point;
  char *at = __builtin_strstr(out.text, point);
  if (!at) return out;
  const char *rest = at + __builtin_strlen(point);
  *at = '.';
  __builtin_memmove(at + 1, rest, __builtin_strlen(rest) + 1);
  return out;
}

/* As the registry reads it; a double with `digits` digits. */
template <class D = void>
PD__LOCAL string_for<D> value_text(pd_type type, const pd_value &value, int digits = 17) {
  if (type == PD_TYPE_string) return value.str;
  if (type == PD_TYPE_bool) return value.b ? "true" : "false";
  if (type == PD_TYPE_double) return detail::write_digits(value.f64, digits).text;
  char space[24];
  bool negative = type == PD_TYPE_int32 || type == PD_TYPE_int64;
  return negative ? write_integer_to(space, value.i64) : write_integer_to(space, value.u64);
}

/* Whether `text` is `word` in any mixture of upper and lower case; `word` is in lower case. */
PD__LAZY bool is_word(const char *text, const char *word) {
  while (*text && (*text | (*text >= 'A' && *text <= 'Z' ? 32 : 0)) == *word) text++, word++;
  return *text == *word;
}

PD__LAZY bool read_bool(const char *text, bool &out) {
  static const char *const words[] = {"0", "1", "f", "t", "false", "true",
                                      "n", "y", "no", "yes", "off", "on"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    out = i % 2 == 1;
    if (detail::is_word(text, words[i])) return true;
  }
  return false;
}

}  // namespace detail
}  // namespace pd

#endif /* PD_FLAGS_VALUES_HPP */
