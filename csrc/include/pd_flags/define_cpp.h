/* The C++ side of define.h, for C++11 and up. */
#ifndef PD_FLAGS_DEFINE_CPP_H
#define PD_FLAGS_DEFINE_CPP_H

#include <type_traits>

namespace pd {

/* Always inline: modules export no function of ours, also without optimiser. */
#define PD__INLINE inline __attribute__((always_inline))

/* What FLAGS_x is in C++: it reads as a T by one atomic load. It can't be
 * copied, so that `auto`, templates and printf's `...` ask for the T by name:
 * FLAGS_x.get(). Any thread. */
template <class T>
class flag_view {
 public:
  PD__INLINE T get() const noexcept {
    /* A string's bytes are written before its pointer is published. */
    T value;
    __atomic_load(&cell_, &value, std::is_pointer<T>::value ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
    return value;
  }
  PD__INLINE operator T() const noexcept { return get(); }
  flag_view(const flag_view &) = delete; /* FLAGS_x.get() gives the value */
  flag_view &operator=(const flag_view &) = delete;

 private:
  T cell_;
};

/* Strings compare by their bytes, not by their addresses. */
using text_view = flag_view<const char *>;

namespace detail {

PD__INLINE bool same_text(const char *a, const char *b) {
  return a == b || (a && b && __builtin_strcmp(a, b) == 0);
}

/* std::string and its like: their own operators are templates, which see nothing
 * but the view. */
template <class S>
using if_class = typename std::enable_if<
    std::is_class<S>::value && !std::is_same<S, text_view>::value, bool>::type;

/* A value that may be left out. */
template <class T>
struct optional {
  bool given;
  T value;
  constexpr optional() noexcept : given(false), value() {}
  constexpr optional(T v) noexcept : given(true), value(v) {}
  constexpr T value_or(T other) const noexcept { return given ? value : other; }
};

/* What may follow the value in PD_DEFINE. */
template <class T>
struct attributes {
  optional<const char *> help;
  optional<T> min;
  optional<T> max;
  optional<const char *> choices;
  optional<const char *> category;
  optional<const char *> aliases;
  optional<bool> hidden;
  optional<bool> read_only;
  optional<bool> startup_only;
  optional<bool> sensitive;
  optional<bool> experimental;
  optional<pd_type> list;
  optional<const char *> unit;
  optional<const char *> deprecated;
  optional<const char *> retired;
  optional<const char *> old_names;
  optional<pd_validator> validate;
  optional<pd_watcher> watch;
  optional<bool> required;
  optional<void *> context;
  optional<bool> assignable;              /* these two for assignable.hpp: */
  optional<const pd_cell_access *> access; /* FLAGS_x of PD_DEFINE can't be assigned to */
};

/* pd_flag_def with plain values: a constant of any of its types. */
template <class T>
struct definition {
  PD_FLAG_DEF_FIELDS(T)
};

template <class T>
constexpr definition<T> define(pd_type type, pd_kind kind, uint32_t line, const char *file,
                               const char *name, void *cell, T value, T low, T high,
                               attributes<T> a) noexcept {
  static_assert(sizeof(definition<T>) == sizeof(pd_flag_def), "same layout as pd_flag_def");
  return {sizeof(pd_flag_def), line, static_cast<uint8_t>(type), static_cast<uint8_t>(kind),
          a.hidden.value, a.read_only.value, a.startup_only.value, a.sensitive.value,
          a.experimental.value, static_cast<uint8_t>(a.list.value), name,
          a.help.value, file, a.category.value, a.aliases.value, a.choices.value, nullptr,
          cell, value, a.min.value_or(low), a.max.value_or(high), a.unit.value,
          a.deprecated.value, a.retired.value, a.old_names.value, a.validate.value, a.watch.value,
          a.required.value, a.assignable.value, {0, 0, 0, 0, 0, 0}, a.context.value, a.access.value};
}

using value_b = bool;
using value_i64 = int64_t;
using value_u64 = uint64_t;
using value_f64 = double;
using value_str = const char *;

}  // namespace detail

PD__INLINE bool operator==(const text_view &a, const text_view &b) {
  return detail::same_text(a.get(), b.get());
}
PD__INLINE bool operator==(const text_view &a, const char *b) {
  return detail::same_text(a.get(), b);
}
PD__INLINE bool operator==(const char *a, const text_view &b) {
  return detail::same_text(a, b.get());
}
template <class S>
PD__INLINE detail::if_class<S> operator==(const text_view &a, const S &b) {
  return b == a.get();
}
template <class S>
PD__INLINE detail::if_class<S> operator==(const S &a, const text_view &b) {
  return a == b.get();
}
PD__INLINE bool operator!=(const text_view &a, const text_view &b) { return !(a == b); }
PD__INLINE bool operator!=(const text_view &a, const char *b) { return !(a == b); }
PD__INLINE bool operator!=(const char *a, const text_view &b) { return !(a == b); }
template <class S>
PD__INLINE detail::if_class<S> operator!=(const text_view &a, const S &b) {
  return !(a == b);
}
template <class S>
PD__INLINE detail::if_class<S> operator!=(const S &a, const text_view &b) {
  return !(a == b);
}

}  // namespace pd

/* In an unnamed namespace clang misses the definition, which stands under the
 * name of the storage. */
#ifdef __clang__
#define PD__DECLARE(ctype, tag, flag, text)                                    \
  _Pragma("clang diagnostic push")                                             \
  _Pragma("clang diagnostic ignored \"-Wundefined-internal\"")                 \
  extern const ::pd::flag_view<ctype> flag PD__LABEL(tag, text)                \
  _Pragma("clang diagnostic pop")
#else
#define PD__DECLARE(ctype, tag, flag, text)                                    \
  extern const ::pd::flag_view<ctype> flag PD__LABEL(tag, text)
#endif

/* Braces refuse a value that the type can't hold. */
#define PD__CELL(ctype, tag, member, low, high, cell, text, value) ctype cell{value}

/* Attributes that are left out are given their defaults by their types. */
#define PD__DEFINITION(type, member, low, high, kind, flag, text, value, ...)  \
  _Pragma("GCC diagnostic push")                                               \
  _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")           \
  extern const ::pd::detail::definition<::pd::detail::value_##member>          \
      pd__def_##flag PD__SYMBOL("pd_flag_definition_" text);                   \
  __extension__ constexpr ::pd::detail::definition<                            \
      ::pd::detail::value_##member>                                            \
      pd__def_##flag = ::pd::detail::define<::pd::detail::value_##member>(     \
          type, kind, __LINE__, __FILE__, text, &pd__cell_##flag, value, low,  \
          high, {.help = __VA_ARGS__});                                        \
  _Pragma("GCC diagnostic pop")

#endif /* PD_FLAGS_DEFINE_CPP_H */
