/* The types T of pd::flag<T>: how their values are stored in the registry, which has seven types,
 * and how they are read and written as text. */
#ifndef PD_FLAGS_TYPES_HPP
#define PD_FLAGS_TYPES_HPP

#include <pd_flags/items.h>
#include <pd_flags/status.hpp>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace pd {

/* The names of an enum's values. `pd::names<E> pd_names(E)`, found by argument-dependent
 * lookup, makes E a type for flags.
 *
 *     inline pd::names<mode> pd_names(mode) {
 *       static const pd::name<mode> all[] = {{"fast", mode::fast}, {"best", mode::best}};
 *       return all;
 *     } */
template <class Enum>
struct name {
  const char *text;
  Enum value;
};

template <class Enum>
class names {
 public:
  template <size_t total>
  PD__LOCAL names(const name<Enum> (&all)[total]) : first_(all), count_(total) {}
  PD__LOCAL const name<Enum> *begin() const { return first_; }
  PD__LOCAL const name<Enum> *end() const { return first_ + count_; }

 private:
  const name<Enum> *first_;
  size_t count_;
};

namespace inner {

template <class...>
struct make_void {
  using type = void;
};
template <class... Types>
using void_t = typename make_void<Types...>::type;
template <bool condition>
using when = typename std::enable_if<condition>::type;

/* ---- Numbers as text, for items and optional values ---- */

PD__LAZY const char *after_sign(const char *text) {
  return *text == '-' || *text == '+' ? text + 1 : text;
}

PD__LAZY bool starts_number(const char *text) {
  text = inner::after_sign(text);
  return *text >= '0' && *text <= '9';
}

template <class T>
PD__LOCAL inline bool read_integer(const char *text, T &out) {
  const char *digits = inner::after_sign(text);
  int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
  char *end = nullptr;
  if (!inner::starts_number(text) || (*text == '-' && std::is_unsigned<T>::value)) return false;
  errno = 0;
  if (std::is_unsigned<T>::value) {
    unsigned long long value = std::strtoull(text, &end, base);
    if (value > static_cast<unsigned long long>(detail::range_of<T>::high())) return false;
    out = static_cast<T>(value);
  } else {
    long long value = std::strtoll(text, &end, base);
    if (value < static_cast<long long>(detail::range_of<T>::low())) return false;
    if (value > static_cast<long long>(detail::range_of<T>::high())) return false;
    out = static_cast<T>(value);
  }
  return errno == 0 && *end == '\0';
}

/* strtod knows only the locale's decimal point. */
PD__LAZY bool read_double(const char *text, double &out) {
  const char *letters = inner::after_sign(text), *point = __builtin_strchr(text, '.');
  const char *local = std::localeconv()->decimal_point;
  size_t size = __builtin_strlen(text) + 1, mark = __builtin_strlen(local);
  size_t before = point ? static_cast<size_t>(point - text) : 0;
  char *copy = static_cast<char *>(::operator new(size + mark)), *end = nullptr;
  __builtin_memcpy(copy, text, size);
  if (point) {
    __builtin_memcpy(copy + before, local, mark);
    __builtin_memcpy(copy + before + mark, point + 1, size - before - 1);
  }
  bool word = detail::is_word(letters, "inf") || detail::is_word(letters, "infinity") ||
              detail::is_word(letters, "nan");
  out = std::strtod(copy, &end);
  bool whole = *end == '\0' && end != copy;
  ::operator delete(copy);
  return (word || inner::starts_number(text) || *letters == '.') && whole;
}

/* The fewest digits, from `least` to `most`, that read back as the same T. */
template <class T>
PD__LOCAL inline detail::double_text shortest(T value, int least, int most) {
  for (int digits = least;; digits++) {
    double wide = 0;
    detail::double_text text = detail::write_digits(static_cast<double>(value), digits);
    T back = inner::read_double(text.text, wide) ? static_cast<T>(wide) : value;
    if (digits == most || !(back < value || back > value)) return text;
  }
}
PD__LAZY detail::double_text write_double(double value) { return inner::shortest(value, 15, 17); }

/* The double with the shortest text that reads back as the float: 0.1 for 0.1f. */
PD__LAZY double widen(float value) {
  double wide = 0;
  inner::read_double(inner::shortest(value, 6, 9).text, wide);
  return wide;
}

/* ---- Types ---- */

/* The traits of T: a number, a duration, text, or an object that is read from text. */
template <class T, class = void>
struct type_of {
  static constexpr bool known = false;
};

/* A type whose values are stored in a cell of that type, and are read by one load. */
template <class T, class Cell>
struct plain {
  static constexpr bool known = true, object = false, ranged = true, fractional = false;
  static constexpr bool partial = false; /* true if fits() may refuse a cell's value */
  static constexpr pd_type type = detail::value_type<Cell>::type, items = static_cast<pd_type>(0);
  using cell = Cell;
  using member = typename detail::value_type<Cell>::member;
  PD__INLINE static const char *unit() { return nullptr; }
  PD__INLINE static T from(cell value) { return static_cast<T>(value); }
  PD__INLINE static cell to(const T &value) { return static_cast<cell>(value); }
  PD__INLINE static member low() { return static_cast<member>(detail::range_of<T>::low()); }
  PD__INLINE static member high() { return static_cast<member>(detail::range_of<T>::high()); }
  PD__INLINE static bool fits(cell, char *, size_t) { return true; }
};

template <class T>
struct is_number {
  static constexpr bool value = std::is_integral<T>::value && sizeof(T) <= 8 &&
                                !std::is_same<T, bool>::value &&
                                !std::is_same<T, char>::value &&
                                !std::is_same<T, wchar_t>::value &&
                                !std::is_same<T, char16_t>::value &&
                                !std::is_same<T, char32_t>::value;
};

template <class T, bool is_signed, bool is_long>
struct integer;
template <class T>
struct integer<T, true, false> : plain<T, int32_t> {};
template <class T>
struct integer<T, true, true> : plain<T, int64_t> {};
template <class T>
struct integer<T, false, false> : plain<T, uint32_t> {};
template <class T>
struct integer<T, false, true> : plain<T, uint64_t> {};

template <class T>
struct type_of<T, when<is_number<T>::value>>
    : integer<T, std::is_signed<T>::value, (sizeof(T) > 4)> {
  PD__LOCAL static bool parse(const char *text, T &out, string_for<T> &why) {
    why = "expected an integer";
    return inner::read_integer(text, out);
  }
  PD__LOCAL static string_for<T> format(const T &value) { return detail::write_integer(value); }
};

template <>
struct type_of<bool> : plain<bool, bool> {
  static constexpr bool ranged = false;
  template <class D = void>
  PD__LOCAL static bool parse(const char *text, bool &out, string_for<D> &why) {
    why = "expected " PD__BOOL_EXPECTED;
    return detail::read_bool(text, out);
  }
  template <class D = void>
  PD__LOCAL static string_for<D> format(const bool &value) { return value ? "true" : "false"; }
};

template <class T>
struct real : plain<T, double> {
  static constexpr bool fractional = true;
  PD__INLINE static double low() { return -__builtin_huge_val(); }
  PD__INLINE static double high() { return __builtin_huge_val(); }
};

template <>
struct type_of<double> : real<double> {
  template <class D = void>
  PD__LOCAL static bool parse(const char *text, double &out, string_for<D> &why) {
    why = "expected a number";
    return inner::read_double(text, out);
  }
  template <class D = void>
  PD__LOCAL static string_for<D> format(const double &value) {
    return inner::write_double(value).text;
  }
};

template <>
struct type_of<float> : real<float> {
  static constexpr bool partial = true;
  PD__INLINE static double to(const float &value) { return inner::widen(value); }
  PD__LAZY static bool fits(double value, char *why, size_t size) {
    double most = static_cast<double>(__FLT_MAX__);
    bool beyond = value > most ? value < high() : value < -most && value > low();
    if (beyond) detail::write_why(why, size, "expected a number that a float can hold");
    return !beyond;
  }
  template <class D = void>
  PD__LOCAL static bool parse(const char *text, float &out, string_for<D> &why) {
    double value = 0;
    char unfit[64] = "expected a number";
    bool read = inner::read_double(text, value) && fits(value, unfit, sizeof unfit);
    why = unfit;
    if (!read) return false;
    out = static_cast<float>(value);
    return true;
  }
  template <class D = void>
  PD__LOCAL static string_for<D> format(const float &value) {
    return inner::write_double(inner::widen(value)).text;
  }
};

/* Whether T is a std::chrono::duration. As for other standard classes below, this header doesn't
 * need <chrono>: code that names the type includes it. */
template <class T, class = void>
struct is_duration : std::false_type {};
template <class T>
struct is_duration<T, void_t<typename T::rep, decltype(T::period::num), decltype(T::period::den)>>
    : std::true_type {};

/* The seconds of a duration, or of a number of them. */
template <class T>
PD__INLINE double to_seconds(const T &value, std::true_type) {
  using period = typename T::period;
  return static_cast<double>(value.count()) * static_cast<double>(period::num) /
         static_cast<double>(period::den);
}
template <class T>
PD__INLINE double to_seconds(const T &value, std::false_type) {
  return static_cast<double>(value);
}

/* Durations are seconds, which the registry also reads as 200ms or 1h30m. */
template <class T>
struct type_of<T, when<is_duration<T>::value>> : plain<T, double> {
  using Ticks = typename T::rep;
  using Period = typename T::period;
  static constexpr bool fractional = true, partial = true;
  PD__INLINE static const char *unit() { return "seconds"; }
  PD__INLINE static double count(double seconds) {
    return seconds * static_cast<double>(Period::den) / static_cast<double>(Period::num);
  }
  /* Rounds to nearest: 0.29 is slightly less than 290 milliseconds. */
  PD__INLINE static T from(double value) {
    double half = std::is_floating_point<Ticks>::value ? 0 : value < 0 ? -0.5 : 0.5;
    return T(static_cast<Ticks>(count(value) + half));
  }
  PD__INLINE static double to(const T &value) {
    return inner::to_seconds(value, std::true_type());
  }
  PD__INLINE static double low() { return -high(); }
  /* Within this bound, a double holds every 64-bit integer exactly. */
  PD__INLINE static double high() {
    if (std::is_floating_point<Ticks>::value) return __builtin_huge_val();
    double most = static_cast<double>(detail::range_of<Ticks>::high());
    most = most > 9e15 ? 9e15 : most;
    return most * static_cast<double>(Period::num) / static_cast<double>(Period::den);
  }
  PD__LOCAL static bool fits(double value, char *why, size_t size) {
    if (std::is_floating_point<Ticks>::value) return true;
    if (!(value >= low() && value <= high())) {
      bool less = value < low();
      return refuse(less ? "at least" : "at most", less ? low() : high(), why, size);
    }
    double excess = count(value) - count(to(from(value)));
    double room = (count(value) < 0 ? -count(value) : count(value)) * 1e-15 + 1e-6;
    if (excess < room && -excess < room) return true;
    return refuse("a multiple of", to(T(1)), why, size);
  }

 private:
  PD__LOCAL static bool refuse(const char *expected, double seconds, char *why, size_t size) {
    std::snprintf(why, size, "expected %s %ss", expected, inner::write_double(seconds).text);
    return false;
  }
};

/* C text: what it points to never changes and stays valid until the process ends. */
template <>
struct type_of<const char *> : plain<const char *, const char *> {
  static constexpr bool ranged = false;
  PD__INLINE static const char *from(cell value) { return value ? value : ""; }
};

/* ---- Objects, which are read from text ---- */

struct from_text {
  static constexpr bool known = true, object = true, ranged = false, fractional = false;
  static constexpr bool partial = true;
  static constexpr pd_type type = PD_TYPE_string, items = static_cast<pd_type>(0);
  PD__INLINE static const char *unit() { return nullptr; }
  template <class D = void>
  PD__LOCAL static string_for<D> choices() {
    return string_for<D>();
  }
};

template <>
struct type_of<std::string> : from_text {
  template <class D = void>
  PD__LOCAL static bool parse(const char *text, string_for<D> &out, string_for<D> &) {
    out = text;
    return true;
  }
  template <class D = void>
  PD__LOCAL static string_for<D> format(const string_for<D> &value) {
    return value;
  }
};

/* A std::string_view: the text of a value stays valid until the process ends. */
template <class T>
using trims = decltype(std::declval<T &>().remove_prefix(1));

template <template <class, class> class View, class Traits>
struct type_of<View<char, Traits>, void_t<trims<View<char, Traits>>>> : from_text {
  PD__LOCAL static bool parse(const char *text, View<char, Traits> &out, string_for<Traits> &) {
    out = text;
    return true;
  }
  PD__LOCAL static string_for<Traits> format(const View<char, Traits> &value) {
    return string_for<Traits>(value.data(), value.size());
  }
};

/* Enums with pd_names. */
template <class T>
struct type_of<T, void_t<when<std::is_enum<T>::value>, decltype(pd_names(T()))>> : from_text {
  PD__LOCAL static bool parse(const char *text, T &out, string_for<T> &why) {
    for (const name<T> &each : pd_names(T())) {
      if (__builtin_strcmp(each.text, text) != 0) continue;
      out = each.value;
      return true;
    }
    why = "expected " + choices();
    return false;
  }
  PD__LOCAL static string_for<T> format(const T &value) {
    for (const name<T> &each : pd_names(T())) {
      if (each.value == value) return each.text;
    }
    return string_for<T>(); /* which isn't one of the choices */
  }
  PD__LOCAL static string_for<T> choices() {
    string_for<T> all;
    for (const name<T> &each : pd_names(T())) {
      if (!all.empty()) all += "|";
      all += each.text;
    }
    return all;
  }
};

/* User-defined types with pd_parse and pd_format. An enum may use these instead of pd_names. */
template <class T>
using parse_result = decltype(pd_parse(std::declval<const char *>(), std::declval<T &>(),
                                       std::declval<std::string &>()));
template <class T>
using format_result = decltype(pd_format(std::declval<const T &>()));

template <class T>
struct type_of<T, void_t<parse_result<T>, format_result<T>>> : from_text {
  PD__LOCAL static bool parse(const char *text, T &out, string_for<T> &why) {
    return pd_parse(text, out, why);
  }
  PD__LOCAL static string_for<T> format(const T &value) { return pd_format(value); }
};

/* ---- Lists and optional values ---- */

template <class Text>
PD__LOCAL inline Text quote_item(const Text &item, bool alone) {
  bool blank = !item.empty() &&
               (__builtin_strchr(" \t", item[0]) || __builtin_strchr(" \t", item.back()));
  bool empty = item.empty() && alone;
  if (!blank && !empty && item.find_first_of(",\"\r\n") == Text::npos) return item;
  Text out = "\"";
  for (char c : item) out += c == '"' ? Text("\"\"") : Text(1, c);
  return out + "\"";
}

template <class Text>
PD__LOCAL inline bool next_item(const char **cursor, Text &item) {
  size_t length = 0;
  const char *from = *cursor;
  if (!pd__item_read(&from, nullptr, 0, &length)) return false;
  item.assign(length + 1, '\0');
  pd__item_read(cursor, &item[0], length + 1, &length);
  item.resize(length);
  return true;
}

/* A std::vector, or a sequence like it, is a comma list, whose items the registry also checks. */
template <class T>
using appends = decltype(std::declval<T &>().push_back(std::declval<typename T::value_type>()));

template <template <class, class> class List, class U, class Memory>
struct type_of<List<U, Memory>, void_t<when<type_of<U>::known>, appends<List<U, Memory>>>>
    : from_text {
  static constexpr pd_type items = type_of<U>::type;
  PD__LOCAL static bool parse(const char *text, List<U, Memory> &out, string_for<U> &why) {
    string_for<U> item;
    out.clear();
    for (const char *cursor = *text ? text : nullptr; cursor;) {
      U value{};
      why = "expected items with commas between";
      if (!inner::next_item(&cursor, item)) return false;
      if (!type_of<U>::parse(item.c_str(), value, why)) {
        why = "item " + detail::write_integer(out.size() + 1) + ": " + why;
        return false;
      }
      out.push_back(std::move(value));
    }
    return true;
  }
  PD__LOCAL static string_for<U> format(const List<U, Memory> &value) {
    string_for<U> out;
    const char *comma = "";
    for (const U &item : value) {
      out += comma + inner::quote_item(type_of<U>::format(item), value.size() == 1);
      comma = ",";
    }
    return out;
  }
  PD__LOCAL static string_for<U> choices() {
    return choices_of(static_cast<type_of<U> *>(nullptr));
  }

 private:
  PD__LOCAL static string_for<U> choices_of(const from_text *) { return type_of<U>::choices(); }
  PD__LOCAL static string_for<U> choices_of(const void *) { return string_for<U>(); }
};

/* A std::optional: empty text means no value. */
template <class T>
using may_lack = decltype(std::declval<T &>().reset(), std::declval<const T &>().has_value());

template <template <class> class Optional, class U>
struct type_of<Optional<U>, void_t<when<type_of<U>::known>, may_lack<Optional<U>>>> : from_text {
  PD__LOCAL static bool parse(const char *text, Optional<U> &out, string_for<U> &why) {
    out.reset();
    if (!*text) return true;
    U value{};
    if (!type_of<U>::parse(text, value, why)) return false;
    out = std::move(value);
    return true;
  }
  PD__LOCAL static string_for<U> format(const Optional<U> &value) {
    return value ? type_of<U>::format(*value) : string_for<U>();
  }
};

}  // namespace inner

}  // namespace pd

#endif /* PD_FLAGS_TYPES_HPP */
