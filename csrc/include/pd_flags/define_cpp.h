/* The C++ side of define.h, for C++11 and up. */
#ifndef PD_FLAGS_DEFINE_CPP_H
#define PD_FLAGS_DEFINE_CPP_H

#include <type_traits>

namespace pd {

/* What FLAGS_x is in C++: it reads as a T by one atomic load. It can't be
 * copied, so that `auto` and printf's `...` ask for the T by name: T(FLAGS_x).
 * Any thread. */
template <class T>
class flag_view {
 public:
  /* Always inline: modules export no function of ours, also without optimiser. */
  __attribute__((always_inline)) operator T() const noexcept {
    /* A string's bytes are written before its pointer is published. */
    T value;
    __atomic_load(&cell_, &value, std::is_pointer<T>::value ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
    return value;
  }
  flag_view(const flag_view &) = delete;
  flag_view &operator=(const flag_view &) = delete;

 private:
  T cell_;
};

namespace detail {

/* A value that may be left out. */
template <class T>
struct optional {
  bool given;
  T value;
  constexpr optional() : given(false), value() {}
  constexpr optional(T v) : given(true), value(v) {}
  constexpr T value_or(T other) const { return given ? value : other; }
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
};

/* pd_flag_def with plain values: a constant of any of its types. */
template <class T>
struct definition {
  PD_FLAG_DEF_FIELDS(T)
};

template <class T>
constexpr definition<T> define(pd_type type, pd_kind kind, uint32_t line, const char *file,
                               const char *name, void *cell, T value, T low, T high,
                               attributes<T> a) {
  static_assert(sizeof(definition<T>) == sizeof(pd_flag_def), "same layout as pd_flag_def");
  return {sizeof(pd_flag_def), line, static_cast<uint8_t>(type), static_cast<uint8_t>(kind),
          a.hidden.value, a.read_only.value, a.startup_only.value, {0, 0, 0}, name,
          a.help.value, file, a.category.value, a.aliases.value, a.choices.value, nullptr,
          cell, value, a.min.value_or(low), a.max.value_or(high)};
}

using value_b = bool;
using value_i64 = int64_t;
using value_u64 = uint64_t;
using value_f64 = double;
using value_str = const char *;

}  // namespace detail
}  // namespace pd

/* In an unnamed namespace clang misses the definition, which stands under the
 * name of the storage. */
#ifdef __clang__
#define PD__DECLARE(ctype, flag, text)                                         \
  _Pragma("clang diagnostic push")                                             \
  _Pragma("clang diagnostic ignored \"-Wundefined-internal\"")                 \
  extern const ::pd::flag_view<ctype> flag PD__LABEL(text)                     \
  _Pragma("clang diagnostic pop")
#else
#define PD__DECLARE(ctype, flag, text)                                         \
  extern const ::pd::flag_view<ctype> flag PD__LABEL(text)
#endif

/* Attributes that are left out are given their defaults by their types. */
#define PD__DEFINITION(ctype, type, member, low, high, kind, flag, text, value, ...) \
  _Pragma("GCC diagnostic push")                                               \
  _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")           \
  __extension__ static constexpr ::pd::detail::definition<                     \
      ::pd::detail::value_##member>                                            \
      pd__def_##flag = ::pd::detail::define<::pd::detail::value_##member>(     \
          type, kind, __LINE__, __FILE__, text, &pd__cell_##flag, value, low,  \
          high, {.help = __VA_ARGS__});                                        \
  _Pragma("GCC diagnostic pop")

#endif /* PD_FLAGS_DEFINE_CPP_H */
