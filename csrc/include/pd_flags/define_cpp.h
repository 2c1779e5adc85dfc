/* The C++ side of define.h, for C++11 and later. */
#ifndef PD_FLAGS_DEFINE_CPP_H
#define PD_FLAGS_DEFINE_CPP_H

#include <type_traits>

namespace pd {

/* Always inlined, so that modules don't export functions of ours even without optimization. */
#define PD__INLINE inline __attribute__((always_inline))
/* For functions whose address is taken, or that are too big to inline: each module has its own
 * copies, which use its own record, and exports none of them. */
#define PD__LOCAL PD__HIDDEN
/* For functions that few files use: as templates, they are compiled only where they are used.
 * Otherwise, each file that includes them would pay for all of them. */
#define PD__LAZY template <class = void> PD__LOCAL

namespace detail {

/* Whether a conditional expression of a U and a T, whose type is their common type, would lose
 * information if converted to U. */
template <class U, class T, bool numbers>
struct loses {
  using both = typename std::common_type<U, T>::type;
  static constexpr bool value =
      std::is_floating_point<U>::value != std::is_floating_point<both>::value ||
      std::is_signed<U>::value != std::is_signed<both>::value || sizeof(U) != sizeof(both);
};
template <class U, class T>
struct loses<U, T, false> {
  static constexpr bool value = false;
};
template <class U, class T>
using if_narrower = typename std::enable_if<
    loses<U, T, std::is_arithmetic<U>::value && std::is_arithmetic<T>::value>::value>::type;

struct view {};

}  // namespace detail

/* The type of FLAGS_x in C++: it converts to T by one atomic load from the cell. It has no data, so
 * the flag's symbol is that of the cell, a T as in C. It can't be copied, so `auto`, templates and
 * printf's `...` need FLAGS_x.get(). Any thread. */
template <class T, T *cell>
class flag_view : detail::view {
 public:
  PD__INLINE T get() const noexcept {
    /* A string's bytes are written before its pointer is published. */
    T value;
    __atomic_load(cell, &value, std::is_pointer<T>::value ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
    return value;
  }
  PD__INLINE operator T() const noexcept { return get(); }
  flag_view(const flag_view &) = delete; /* use FLAGS_x.get() */
  flag_view &operator=(const flag_view &) = delete;
  void operator&() const = delete; /* the view isn't the value */

 private:
  /* `yes ? 2 : FLAGS_rate` would convert a double to int. This conversion, which no code can
   * use, makes each side convert to the other, so the compiler refuses: use FLAGS_rate.get(). */
  template <class U, class = detail::if_narrower<U, T>>
  flag_view(U);
};

namespace detail {

/* An optional value. */
template <class T>
struct maybe {
  bool given;
  T value;
  constexpr maybe() noexcept : given(false), value() {}
  constexpr maybe(T content) noexcept : given(true), value(content) {}
  constexpr T value_or(T other) const noexcept { return given ? value : other; }
};

#define PD__MARK_MEMBER(name, words, about) maybe<bool> name;
#define PD__TEXT_MEMBER(name, words, kind, about) maybe<const char *> name;

/* The attributes that may follow the value in PD_DEFINE. */
template <class T>
struct attributes {
  maybe<const char *> help;
  maybe<T> min;
  maybe<T> max;
  PD_FIRST_TEXTS(PD__TEXT_MEMBER)
  PD_FIRST_MARKS(PD__MARK_MEMBER)
  maybe<pd_type> list;
  PD_LATER_TEXTS(PD__TEXT_MEMBER)
  maybe<pd_validator> validate;
  maybe<pd_watcher> watch;
  PD_LATER_MARKS(PD__MARK_MEMBER)
  maybe<void *> context;
  maybe<bool> assignable;              /* these two are for assignable.hpp: */
  maybe<const pd_cell_access *> access; /* FLAGS_x of PD_DEFINE can't be assigned to */
};

/* PD_DEFINE_SCOPED_<type> sets a mark that isn't among its attributes. */
template <class T>
struct all_attributes : attributes<T> {
  maybe<bool> scoped;
  bool scoped_cell;
  constexpr all_attributes(attributes<T> given, bool mark = false) noexcept
      : attributes<T>(given), scoped(given.scoped.value || mark), scoped_cell(mark) {}
};

/* The values in the order of the fields of pd_flag_def, whose lists make both. */
#define PD__MARK_VALUE(name, words, about) a.name.value,
#define PD__TEXT_VALUE(name, words, kind, about) a.name.value,

/* pd_flag_def with plain values, so that it is a constant for each type. */
template <class T>
struct definition {
  PD_FLAG_DEF_FIELDS(T)
};

template <class T>
constexpr definition<T> define(pd_type type, pd_kind kind, uint32_t line, const char *file,
                               const char *name, void *cell, T value, T low, T high,
                               all_attributes<T> a) noexcept {
  static_assert(sizeof(definition<T>) == sizeof(pd_flag_def), "same layout as pd_flag_def");
  return {sizeof(pd_flag_def), line, static_cast<uint8_t>(type), static_cast<uint8_t>(kind),
          PD_FIRST_MARKS(PD__MARK_VALUE) static_cast<uint8_t>(a.list.value), name,
          a.help.value, file, PD_FIRST_TEXTS(PD__TEXT_VALUE) nullptr, cell,
          value, a.min.value_or(low), a.max.value_or(high), a.validate.value, a.watch.value,
          a.context.value, a.access.value, a.assignable.value,
          PD_LATER_MARKS(PD__MARK_VALUE) {}, a.scoped_cell, PD_LATER_TEXTS(PD__TEXT_VALUE) nullptr};
}

using pd__b = bool;
using pd__i64 = int64_t;
using pd__u64 = uint64_t;
using pd__f64 = double;
using pd__str = const char *;

}  // namespace detail

namespace detail {

/* Whether V is the view of a string; scoped.h adds its own view. */
template <class V>
struct is_text : std::false_type {};
template <const char **cell>
struct is_text<flag_view<const char *, cell>> : std::true_type {};

/* bool, the result of an operator that exists only if V and U are such types. An object is a
 * std::string or similar, whose own operators are templates and don't convert the view. */
template <class V, class U = V>
using if_texts = typename std::enable_if<is_text<V>::value && is_text<U>::value, bool>::type;
template <class V, class U>
using if_text_and_object = typename std::enable_if<
    is_text<V>::value && std::is_class<U>::value && !std::is_base_of<view, U>::value, bool>::type;

PD__INLINE bool same_text(const char *a, const char *b) {
  return a == b || (a && b && __builtin_strcmp(a, b) == 0);
}

}  // namespace detail

/* Strings compare by their bytes, not by their addresses. `truth` is nothing for ==, ! for !=. */
#define PD__TEXT_OPERATOR(sign, truth)                                                \
  template <class V, class U>                                                         \
  PD__INLINE detail::if_texts<V, U> operator sign(const V &a, const U &b) {           \
    return truth detail::same_text(a.get(), b.get());                                 \
  }                                                                                   \
  template <class V>                                                                  \
  PD__INLINE detail::if_texts<V> operator sign(const V &a, const char *b) {           \
    return truth detail::same_text(a.get(), b);                                       \
  }                                                                                   \
  template <class V>                                                                  \
  PD__INLINE detail::if_texts<V> operator sign(const char *a, const V &b) {           \
    return truth detail::same_text(a, b.get());                                       \
  }                                                                                   \
  template <class V, class U>                                                         \
  PD__INLINE detail::if_text_and_object<V, U> operator sign(const V &a, const U &b) { \
    return truth(b == a.get());                                                       \
  }                                                                                   \
  template <class V, class U>                                                         \
  PD__INLINE detail::if_text_and_object<V, U> operator sign(const U &a, const V &b) { \
    return truth(a == b.get());                                                       \
  }
PD__TEXT_OPERATOR(==, )
PD__TEXT_OPERATOR(!=, !)
#undef PD__TEXT_OPERATOR

}  // namespace pd

/* The view itself is never read, but without optimization its address is taken and needs a symbol.
 * That is the cell's; with gcc it is a separate byte, since -flto warns of one symbol with two
 * types. Assembly makes that, since C++ would give it the type of the view; .ifndef makes it only
 * once if -flto pastes the assembly of many sources into one file. */
#if defined(__ELF__) && !defined(__clang__) && !defined(__OPTIMIZE__)
#define PD__VIEW_SYMBOL(own, cell) PD__SYMBOL(own)
#define PD__VIEW_PLACE(symbol)                                                 \
  __asm__(".ifndef " symbol "\n"                                               \
          ".weak " symbol "\n"                                                 \
          ".hidden " symbol "\n"                                               \
          ".pushsection .rodata\n" symbol ":\n"                                \
          ".byte 0\n"                                                          \
          ".popsection\n"                                                      \
          ".endif\n");
#else
#define PD__VIEW_SYMBOL(own, cell) PD__SYMBOL(cell)
#define PD__VIEW_PLACE(symbol)
#endif

/* In an unnamed namespace, clang doesn't find the definition, which has the name of
 * the storage. */
#ifdef __clang__
#define PD__VIEW_BEGIN                                                         \
  _Pragma("clang diagnostic push")                                             \
  _Pragma("clang diagnostic ignored \"-Wundefined-internal\"")
#define PD__VIEW_END _Pragma("clang diagnostic pop")
#else
#define PD__VIEW_BEGIN
#define PD__VIEW_END
#endif
#define PD__VIEW(ctype, type_name, flag, text)                                 \
  PD__VIEW_BEGIN PD__VIEW_PLACE("pd_flag_view_" type_name "_" text)            \
  extern const ::pd::flag_view<ctype, &pd__cell_##flag> flag                   \
      PD__VIEW_SYMBOL("pd_flag_view_" type_name "_" text,                      \
                      "pd_flag_cell_" type_name "_" text) PD__VIEW_END
#define PD__DECLARE(ctype, type_name, flag, text)                              \
  extern ctype pd__cell_##flag PD__CELL_SYMBOL(type_name, text);               \
  PD__VIEW(ctype, type_name, flag, text)

/* Braces make a value that the type can't hold an error. */
#define PD__CELL(ctype, type_name, member, low, high, cell, text, value) ctype cell{value}

/* Omitted attributes get the defaults of their types. The definition is constexpr, so it is there
 * before any constructor has run. `.help =` is an extension until C++20, hence __extension__. */
#define PD__DEFINITION(type, is_scoped, member, low, high, kind, flag, text, value, ...) \
  _Pragma("GCC diagnostic push")                                                         \
  _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                     \
  extern const ::pd::detail::definition<::pd::detail::member>                            \
      pd__def_##flag PD__SYMBOL("pd_flag_definition_" text);                             \
  __extension__ constexpr ::pd::detail::definition<::pd::detail::member>                 \
      pd__def_##flag = ::pd::detail::define<::pd::detail::member>(                       \
          type, kind, __LINE__, __FILE__, text, &pd__cell_##flag, value, low,            \
          high, {{.help = __VA_ARGS__}, is_scoped});                                     \
  _Pragma("GCC diagnostic pop")

#endif /* PD_FLAGS_DEFINE_CPP_H */
