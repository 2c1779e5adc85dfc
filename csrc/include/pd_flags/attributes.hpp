/* What may follow the help text of a pd::flag, in any order. */
#ifndef PD_FLAGS_ATTRIBUTES_HPP
#define PD_FLAGS_ATTRIBUTES_HPP

#include <pd_flags/types.hpp>

namespace pd {
namespace inner {

struct attribute {};

/* Text that stays as long as the module. */
PD__OWN inline const char *keep(const std::string &text) {
  char *copy = static_cast<char *>(::operator new(text.size() + 1));
  return static_cast<const char *>(std::memcpy(copy, text.c_str(), text.size() + 1));
}

/* Functions of a flag, which stay as long as its module: one after the other. */
template <class T>
struct check {
  bool (*call)(const check *self, const T &value, std::string &why);
  check *next;
};
template <class T>
struct watch {
  void (*call)(const watch *self, const T &value);
  watch *next;
};

/* What attributes change. */
template <class T>
struct making {
  pd_flag_def *def;
  check<T> **checks; /* where the next one goes */
  watch<T> **watches;
};

/* ---- Bounds ---- */

template <class T, class V>
struct bound_of {
  static_assert(std::is_arithmetic<V>::value, "pd::range of a number takes numbers");
  static_assert(std::is_integral<V>::value || type_of<T>::fractional,
                "pd::range of an integer takes integers");
  using member = typename type_of<T>::member;
  /* What lies below the smallest value of an unsigned type is said by that. */
  PD__OWN static bool below(V value) { return std::is_unsigned<member>::value && value < V(); }
  PD__OWN static member get(V value) { return below(value) ? member() : static_cast<member>(value); }
};
template <class T>
struct bound_of<T, float> {
  static_assert(type_of<T>::fractional, "pd::range of an integer takes integers");
  PD__OWN static bool below(float) { return false; }
  PD__OWN static double get(float value) { return inner::widen(value); }
};
template <class Rep, class Period, class V>
struct bound_of<std::chrono::duration<Rep, Period>, V> {
  using T = std::chrono::duration<Rep, Period>;
  PD__OWN static bool below(V) { return false; }
  PD__OWN static double get(V value) { return std::chrono::duration<double>(value).count(); }
};

PD__INLINE void put(pd_value &to, bool value) { to.b = value; }
PD__INLINE void put(pd_value &to, int64_t value) { to.i64 = value; }
PD__INLINE void put(pd_value &to, uint64_t value) { to.u64 = value; }
PD__INLINE void put(pd_value &to, double value) { to.f64 = value; }
PD__INLINE void put(pd_value &to, const char *value) { to.str = value; }

template <class V>
struct at_least_t : attribute {
  V low;
  template <class T>
  PD__OWN void apply(making<T> &to) const {
    static_assert(type_of<T>::ranged, "a range is for flags of numbers and durations");
    inner::put(to.def->min, bound_of<T, V>::get(low));
  }
};

template <class V>
struct at_most_t : attribute {
  V high;
  template <class T>
  PD__OWN void apply(making<T> &to) const {
    static_assert(type_of<T>::ranged, "a range is for flags of numbers and durations");
    inner::put(to.def->max, bound_of<T, V>::get(high));
    if (bound_of<T, V>::below(high)) to.def->min.u64 = 1; /* an empty one, which is refused */
  }
};

template <class A, class B>
struct range_t : attribute {
  at_least_t<A> low;
  at_most_t<B> high;
  template <class T>
  PD__OWN void apply(making<T> &to) const {
    low.apply(to);
    high.apply(to);
  }
};

/* ---- Text, and yes or no ---- */

/* Whether a flag of T may have the text. */
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
  PD__OWN explicit text_t(const char *value) : text(value) {}
  template <class T>
  PD__OWN void apply(making<T> &to) const {
    static_assert(text_suits<field, T>::value, "a unit is for flags of numbers");
    to.def->*field = text;
  }
};

template <bool pd_flag_def::*field>
struct mark_t : attribute {
  constexpr mark_t() {}
  template <class T>
  PD__OWN void apply(making<T> &to) const {
    to.def->*field = true;
  }
};

/* ---- Functions ---- */

template <class F, class T>
using takes_why = decltype(static_cast<bool>(
    std::declval<const F &>()(std::declval<const T &>(), std::declval<std::string &>())));
template <class F, class T>
using takes_value = decltype(static_cast<bool>(std::declval<const F &>()(std::declval<const T &>())));
template <class F, class T>
using told_value = decltype(std::declval<const F &>()(std::declval<const T &>()));
template <class F>
using told_nothing = decltype(std::declval<const F &>()());

template <class T, class F>
struct check_by : check<T> {
  F function;
  const char *expected;
  PD__OWN check_by(F f, const char *text) : function(std::move(f)), expected(text) {
    this->call = run;
    this->next = nullptr;
  }
  PD__OWN static bool run(const check<T> *self, const T &value, std::string &why) {
    const check_by *own = static_cast<const check_by *>(self);
    if (own->expected) why = own->expected;
    return ask<F>(own->function, value, why, 0);
  }

 private:
  template <class G>
  PD__OWN static auto ask(const G &f, const T &value, std::string &why, int) -> takes_why<G, T> {
    return static_cast<bool>(f(value, why));
  }
  template <class G>
  PD__OWN static auto ask(const G &f, const T &value, std::string &, long) -> takes_value<G, T> {
    return static_cast<bool>(f(value));
  }
  template <class G>
  PD__OWN static bool ask(const G &, const T &, std::string &, ...) {
    static_assert(never<G>::value,
                  "pd::validate takes bool(const T &) or bool(const T &, std::string &why)");
    return false;
  }
};

template <class T, class F>
struct watch_by : watch<T> {
  F function;
  PD__OWN explicit watch_by(F f) : function(std::move(f)) {
    this->call = run;
    this->next = nullptr;
  }
  PD__OWN static void run(const watch<T> *self, const T &value) {
    tell<F>(static_cast<const watch_by *>(self)->function, value, 0);
  }

 private:
  template <class G>
  PD__OWN static auto tell(const G &f, const T &value, int) -> void_t<told_value<G, T>> {
    f(value);
  }
  template <class G>
  PD__OWN static auto tell(const G &f, const T &, long) -> void_t<told_nothing<G>> {
    f();
  }
  template <class G>
  PD__OWN static void tell(const G &, const T &, ...) {
    static_assert(never<G>::value, "pd::watch takes void(const T &) or void()");
  }
};

template <class F>
struct validate_t : attribute {
  F function;
  const char *expected;
  PD__OWN validate_t(F f, const char *text) : function(std::move(f)), expected(text) {}
  template <class T>
  PD__OWN void apply(making<T> &to) const {
    *to.checks = new check_by<T, F>(function, expected);
    to.checks = &(*to.checks)->next;
  }
};

template <class F>
struct watch_t : attribute {
  F function;
  PD__OWN explicit watch_t(F f) : function(std::move(f)) {}
  template <class T>
  PD__OWN void apply(making<T> &to) const {
    *to.watches = new watch_by<T, F>(function);
    to.watches = &(*to.watches)->next;
  }
};

template <class T>
PD__OWN inline void apply_all(making<T> &) {}
template <class T, class A, class... More>
PD__OWN inline void apply_all(making<T> &to, const A &first, const More &...more) {
  static_assert(std::is_base_of<attribute, A>::value,
                "behind the help text of a flag come attributes: pd::range(1, 9), pd::hidden, ...");
  first.apply(to);
  inner::apply_all(to, more...);
}

}  // namespace inner

/* Numbers and durations: both ends belong to it. */
template <class A, class B>
PD__OWN inline inner::range_t<A, B> range(A low, B high) {
  inner::range_t<A, B> made;
  made.low.low = low;
  made.high.high = high;
  return made;
}
template <class V>
PD__OWN inline inner::at_least_t<V> at_least(V low) {
  inner::at_least_t<V> made;
  made.low = low;
  return made;
}
template <class V>
PD__OWN inline inner::at_most_t<V> at_most(V high) {
  inner::at_most_t<V> made;
  made.high = high;
  return made;
}

/* pd::category("Tuning") and the other texts of pd_flags.h. They stay as long as the module:
 * write literals. Lists are "fast|best". */
#define PD__TEXT_ATTRIBUTE(name, words, kind, about) \
  using name = inner::text_t<&pd_flag_def::name>;
PD_TEXT_MAP(PD__TEXT_ATTRIBUTE)

/* pd::hidden and the others of pd_flags.h */
#define PD__MARK_ATTRIBUTE(name, words, about) \
  constexpr inner::mark_t<&pd_flag_def::name> name{};
PD_MARK_MAP(PD__MARK_ATTRIBUTE)

/* Ask `function` about each value before the flag has it: bool(const T &), with `expected`
 * in the message of those that are refused ("expected an even number"); or
 * bool(const T &, std::string &why). Without a lock, on the thread of whoever sets; it may
 * be asked again about one change. What it throws refuses. */
template <class F>
PD__OWN inline inner::validate_t<F> validate(F function, const char *expected = nullptr) {
  return inner::validate_t<F>(std::move(function), expected);
}

/* Tell `function` of each change, with the new value: void(const T &) or void(). What it
 * throws becomes a warning: the change is made by then. */
template <class F>
PD__OWN inline inner::watch_t<F> watch(F function) {
  return inner::watch_t<F>(std::move(function));
}

}  // namespace pd

#endif /* PD_FLAGS_ATTRIBUTES_HPP */
