/* AbslParseFlag and AbslUnparseFlag for Abseil's own types, and what calls a program's own. */
#ifndef PD_FLAGS_ABSL_MARSHALLING_HPP
#define PD_FLAGS_ABSL_MARSHALLING_HPP

#include <pd_flags/flag.hpp>

#include <string>
#include <vector>

#if defined(__has_include)
#if __has_include(<absl/strings/string_view.h>)
#include <absl/strings/string_view.h>
#define PD__ABSL_HAS_VIEW
#endif
/* A program's small copy of Abseil's strings must not be mixed with the system's Abseil. */
#if defined(ABSL_BASE_CONFIG_H_) && __has_include(<absl/types/optional.h>)
#include <absl/types/optional.h>
#define PD__ABSL_HAS_OPTIONAL
#endif
#endif
#ifndef PD__ABSL_HAS_VIEW
#include <string_view>
namespace absl {
using std::string_view;
}
#endif
#include <optional>
#ifndef PD__ABSL_HAS_OPTIONAL
namespace absl {
using std::optional;
}
#endif

namespace pd {
namespace absl_flags PD__LOCAL {

/* Numbers and bools are read and written as by the registry, strings as they are. */
template <class T>
struct is_plain
    : std::integral_constant<bool, std::is_arithmetic<T>::value ||
                                       std::is_same<T, std::string>::value> {};

PD__LOCAL inline std::string strip(absl::string_view text) {
  std::string all(text.data(), text.size());
  size_t first = all.find_first_not_of(" \t\n\v\f\r"), last = all.find_last_not_of(" \t\n\v\f\r");
  return first == std::string::npos ? "" : all.substr(first, last - first + 1);
}

template <class T>
PD__LOCAL typename std::enable_if<std::is_arithmetic<T>::value, bool>::type AbslParseFlag(
    absl::string_view text, T *out, std::string *error) {
  std::string copy = strip(text);
  T read{};
  if (!inner::type_of<T>::parse(copy.c_str(), read, *error)) return false;
  *out = read;
  return true;
}

template <class T>
PD__LOCAL typename std::enable_if<std::is_arithmetic<T>::value, std::string>::type AbslUnparseFlag(
    T value) {
  return inner::type_of<T>::format(value);
}

PD__LOCAL inline bool AbslParseFlag(absl::string_view text, std::string *out, std::string *) {
  out->assign(text.data(), text.size());
  return true;
}
PD__LOCAL inline std::string AbslUnparseFlag(const std::string &value) { return value; }

/* Abseil's lists: commas separate items, and there is no quoting. */
PD__LOCAL inline bool AbslParseFlag(absl::string_view text, std::vector<std::string> *out,
                                    std::string *) {
  std::string all(text.data(), text.size());
  out->clear();
  for (size_t at = 0; !all.empty() && at <= all.size();) {
    size_t comma = ::pd::detail::least(all.find(',', at), all.size());
    out->push_back(all.substr(at, comma - at));
    at = comma + 1;
  }
  return true;
}
PD__LOCAL inline std::string AbslUnparseFlag(const std::vector<std::string> &value) {
  std::string all;
  for (size_t i = 0; i < value.size(); i++) all += (i ? "," : "") + value[i];
  return all;
}

template <class T>
PD__LOCAL bool parse_flag(absl::string_view text, T *out, std::string *error);
template <class T>
PD__LOCAL std::string unparse_flag(const T &value);

/* Empty text means no value. */
template <class Optional>
PD__LOCAL bool parse_optional(absl::string_view text, Optional *out, std::string *error) {
  out->reset();
  if (text.empty()) return true;
  typename Optional::value_type value{};
  if (!parse_flag(text, &value, error)) return false;
  *out = std::move(value);
  return true;
}
template <class T>
PD__LOCAL bool AbslParseFlag(absl::string_view text, std::optional<T> *out, std::string *error) {
  return parse_optional(text, out, error);
}
template <class T>
PD__LOCAL std::string AbslUnparseFlag(const std::optional<T> &value) {
  return value ? unparse_flag(*value) : std::string();
}
#if defined(PD__ABSL_HAS_OPTIONAL) && !defined(ABSL_USES_STD_OPTIONAL)
template <class T>
PD__LOCAL bool AbslParseFlag(absl::string_view text, absl::optional<T> *out, std::string *error) {
  return parse_optional(text, out, error);
}
template <class T>
PD__LOCAL std::string AbslUnparseFlag(const absl::optional<T> &value) {
  return value ? unparse_flag(*value) : std::string();
}
#endif

template <class T>
PD__LOCAL bool parse_flag(absl::string_view text, T *out, std::string *error) {
  return AbslParseFlag(text, out, error);
}
template <class T>
PD__LOCAL std::string unparse_flag(const T &value) {
  return AbslUnparseFlag(value);
}

/* A value that the registry has as text, and the program as a T. */
template <class T>
struct object {
  T value;
};
template <class T>
PD__LOCAL bool pd_parse(const char *text, object<T> &out, std::string &why) {
  if (parse_flag(absl::string_view(text), &out.value, &why)) return true;
  if (why.empty()) why = "expected a value of its type";
  return false;
}
template <class T>
PD__LOCAL std::string pd_format(const object<T> &from) {
  return unparse_flag(from.value);
}

/* The pd::flag of a T. */
template <class T, bool plain = is_plain<T>::value>
struct slot {
  using type = T;
  PD__LOCAL static const T &open(const T &value) { return value; }
  PD__LOCAL static const T &close(const T &value) { return value; }
};
template <class T>
struct slot<T, false> {
  using type = object<T>;
  PD__LOCAL static const T &open(const type &from) { return from.value; }
  PD__LOCAL static type close(const T &value) { return type{value}; }
};

}  // namespace absl_flags
}  // namespace pd

namespace absl {

template <class T>
PD__LOCAL inline bool ParseFlag(string_view text, T *out, std::string *error) {
  return ::pd::absl_flags::parse_flag(text, out, error);
}
template <class T>
PD__LOCAL inline std::string UnparseFlag(const T &value) {
  return ::pd::absl_flags::unparse_flag(value);
}

}  // namespace absl

#endif /* PD_FLAGS_ABSL_MARSHALLING_HPP */
