/* The attributes of a pd::flag: they follow its help text, in any order. */
#ifndef PD_FLAGS_ATTRIBUTES_HPP
#define PD_FLAGS_ATTRIBUTES_HPP

#include <pd_flags/types.hpp>

namespace pd {
namespace inner {

/* What an attribute has besides texts and numbers. */
struct attribute {
  static constexpr bool checks = false, watches = false;
};

/* Whether one of the attributes checks values or watches changes. */
template <class...>
struct any_of {
  static constexpr bool checks = false, watches = false;
};
template <class First, class... More>
struct any_of<First, More...> {
  static constexpr bool checks = First::checks || any_of<More...>::checks;
  static constexpr bool watches = First::watches || any_of<More...>::watches;
};

/* Text that lives as long as the module. */
PD__LAZY const char *keep(given_text text) {
  size_t size = __builtin_strlen(text.c_str()) + 1;
  return static_cast<const char *>(__builtin_memcpy(::operator new(size), text.c_str(), size));
}

/* A list of functions of a flag, which live as long as its module. */
template <class T>
struct check {
  bool (*call)(const check *self, const T &value, char *why, size_t size);
  check *next;
};
template <class T>
struct watch {
  void (*call)(const watch *self, const T &value);
  watch *next;
};

/* The definition that attributes fill. */
template <class T>
struct making {
  pd_flag_def *def;
  check<T> **checks; /* where to put the next one */
  watch<T> **watches;
};

/* ---- Bounds ---- */

template <class T, class V, class = void>
struct bound_of {
  static_assert(std::is_arithmetic<V>::value, "pd::range of a number takes numbers");
  static_assert(std::is_integral<V>::value || type_of<T>::fractional,
                "pd::range of an integer takes integers");
  using member = typename type_of<T>::member;
  /* A bound below the smallest value of an unsigned type becomes that value. */
  PD__LOCAL static bool below(V value) { return std::is_unsigned<member>::value && value < V(); }
  PD__LOCAL static member get(V value) {
    return below(value) ? member() : static_cast<member>(value);
  }
};
template <class T>
struct bound_of<T, float, when<!is_duration<T>::value>> {
  static_assert(type_of<T>::fractional, "pd::range of an integer takes integers");
  PD__LOCAL static bool below(float) { return false; }
  PD__LOCAL static double get(float value) { return inner::widen(value); }
};
template <class T, class V>
struct bound_of<T, V, when<is_duration<T>::value>> {
  PD__LOCAL static bool below(V) { return false; }
  PD__LOCAL static double get(V value) { return inner::to_seconds(value, is_duration<V>()); }
};

template <class V>
struct at_least_t : attribute {
  V low;
  PD__LOCAL explicit at_least_t(V value) : low(value) {}
  template <class T>
  PD__LOCAL void apply(making<T> &to) const {
    static_assert(type_of<T>::ranged, "a range is for flags of numbers and durations");
    detail::put(to.def->min, bound_of<T, V>::get(low));
  }
};

template <class V>
struct at_most_t : attribute {
  V high;
  PD__LOCAL explicit at_most_t(V value) : high(value) {}
  template <class T>
  PD__LOCAL void apply(making<T> &to) const {
    static_assert(type_of<T>::ranged, "a range is for flags of numbers and durations");
    detail::put(to.def->max, bound_of<T, V>::get(high));
    if (bound_of<T, V>::below(high)) to.def->min.u64 = 1; /* an empty range, which is refused */
  }
};

template <class First, class Second>
struct range_t : attribute {
  at_least_t<First> low;
  at_most_t<Second> high;
  PD__LOCAL range_t(First first, Second second) : low(first), high(second) {}
  template <class T>
  PD__LOCAL void apply(making<T> &to) const {
    low.apply(to);
    high.apply(to);
  }
};

/* ---- Texts and marks ---- */

/* Returns whether a flag of T may have this text. */
template <const char *pd_flag_def::*field, class T>
struct text_suits {
  static constexpr bool value = true;
};
template <class T>
struct text_suits<&pd_flag_def::unit, T> {
  static constexpr bool value = type_of<T>::ranged;
};

template <const char *pd_flag_def::*field>
struct text_t : attribute {
  const char *text;
  PD__LOCAL explicit text_t(const char *value) : text(value) {}
  template <class T>
  PD__LOCAL void apply(making<T> &to) const {
    static_assert(text_suits<field, T>::value, "a unit is for flags of numbers");
    to.def->*field = text;
  }
};

template <bool pd_flag_def::*field>
struct mark_t : attribute {
  constexpr mark_t() {}
  template <class T>
  PD__LOCAL void apply(making<T> &to) const {
    to.def->*field = true;
  }
};

/* ---- Functions ---- */

template <class Function, class T>
using takes_why = decltype(static_cast<bool>(
    std::declval<const Function &>()(std::declval<const T &>(), std::declval<std::string &>())));
template <class Function, class T>
using takes_value =
    decltype(static_cast<bool>(std::declval<const Function &>()(std::declval<const T &>())));
template <class Function, class T>
using told_value = decltype(std::declval<const Function &>()(std::declval<const T &>()));
template <class Function>
using told_nothing = decltype(std::declval<const Function &>()());

template <class T, class Function>
struct check_by : check<T> {
  Function function;
  const char *expected;
  PD__LOCAL check_by(Function f, const char *text) : function(std::move(f)), expected(text) {
    this->call = invoke;
    this->next = nullptr;
  }
  PD__LOCAL static bool invoke(const check<T> *self, const T &value, char *why, size_t size) {
    const check_by *own = static_cast<const check_by *>(self);
    detail::write_why(why, size, own->expected ? own->expected : "");
    return passes<Function>(own->function, value, why, size, 0);
  }

 private:
  template <class Given>
  PD__LOCAL static auto passes(const Given &f, const T &value, char *why, size_t size, int)
      -> takes_why<Given, T> {
    string_for<Given> said(why);
    bool passed = static_cast<bool>(f(value, said));
    if (!passed) detail::write_why(why, size, said.c_str());
    return passed;
  }
  template <class Given>
  PD__LOCAL static auto passes(const Given &f, const T &value, char *, size_t, long)
      -> takes_value<Given, T> {
    return static_cast<bool>(f(value));
  }
  template <class Given>
  PD__LOCAL static bool passes(const Given &, const T &, char *, size_t, ...) {
    static_assert(never<Given>::value,
                  "pd::validate takes bool(const T &) or bool(const T &, std::string &why)");
    return false;
  }
};

template <class T, class Function>
struct watch_by : watch<T> {
  Function function;
  PD__LOCAL explicit watch_by(Function f) : function(std::move(f)) {
    this->call = invoke;
    this->next = nullptr;
  }
  PD__LOCAL static void invoke(const watch<T> *self, const T &value) {
    tell<Function>(static_cast<const watch_by *>(self)->function, value, 0);
  }

 private:
  template <class Given>
  PD__LOCAL static auto tell(const Given &f, const T &value, int) -> void_t<told_value<Given, T>> {
    f(value);
  }
  template <class Given>
  PD__LOCAL static auto tell(const Given &f, const T &, long) -> void_t<told_nothing<Given>> {
    f();
  }
  template <class Given>
  PD__LOCAL static void tell(const Given &, const T &, ...) {
    static_assert(never<Given>::value, "pd::watch takes void(const T &) or void()");
  }
};

template <class Function>
struct validate_t : attribute {
  static constexpr bool checks = true;
  Function function;
  const char *expected;
  PD__LOCAL validate_t(Function f, const char *text) : function(std::move(f)), expected(text) {}
  template <class T>
  PD__LOCAL void apply(making<T> &to) const {
    *to.checks = new check_by<T, Function>(function, expected);
    to.checks = &(*to.checks)->next;
  }
};

template <class Function>
struct watch_t : attribute {
  static constexpr bool watches = true;
  Function function;
  PD__LOCAL explicit watch_t(Function f) : function(std::move(f)) {}
  template <class T>
  PD__LOCAL void apply(making<T> &to) const {
    *to.watches = new watch_by<T, Function>(function);
    to.watches = &(*to.watches)->next;
  }
};

template <class T>
PD__LOCAL inline void apply_all(making<T> &) {}
template <class T, class First, class... More>
PD__LOCAL inline void apply_all(making<T> &to, const First &first, const More &...more) {
  static_assert(std::is_base_of<attribute, First>::value,
                "behind the help text of a flag come attributes: pd::range(1, 9), pd::hidden, ...");
  first.apply(to);
  inner::apply_all(to, more...);
}

}  // namespace inner

/* A range of numbers or durations, both ends included. */
template <class First, class Second>
PD__LOCAL inline inner::range_t<First, Second> range(First low, Second high) {
  return inner::range_t<First, Second>(low, high);
}
template <class V>
PD__LOCAL inline inner::at_least_t<V> at_least(V low) {
  return inner::at_least_t<V>(low);
}
template <class V>
PD__LOCAL inline inner::at_most_t<V> at_most(V high) {
  return inner::at_most_t<V>(high);
}

/* pd::category("Tuning") and the other texts of pd_flags.h. They must live as long as the module:
 * use literals. Lists are written "fast|best". */
#define PD__TEXT_ATTRIBUTE(name, words, kind, about) \
  using name = inner::text_t<&pd_flag_def::name>;
PD_TEXT_MAP(PD__TEXT_ATTRIBUTE)

/* pd::hidden and the other marks of pd_flags.h */
#define PD__MARK_ATTRIBUTE(name, words, about) \
  constexpr inner::mark_t<&pd_flag_def::name> name{};
PD_MARK_MAP(PD__MARK_ATTRIBUTE)

/* A validator: `function` returns whether the flag may have a value. It is bool(const T &), with
 * `expected` for the error message ("an even number"), or bool(const T &, std::string &why). It
 * runs without a lock, on the thread that sets the flag, and may run again for the same change.
 * An exception rejects the value. */
template <class Function>
PD__LOCAL inline inner::validate_t<Function> validate(Function function,
                                                      const char *expected = nullptr) {
  return inner::validate_t<Function>(std::move(function), expected);
}

/* A watcher: `function` is called after each change, with the new value: void(const T &) or void().
 * An exception becomes a warning, because the change is already made. */
template <class Function>
PD__LOCAL inline inner::watch_t<Function> watch(Function function) {
  return inner::watch_t<Function>(std::move(function));
}

}  // namespace pd

#endif /* PD_FLAGS_ATTRIBUTES_HPP */
