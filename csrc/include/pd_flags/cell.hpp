/* The variable of a pd::flag<T>: the registry writes it, anyone may read it. */
#ifndef PD_FLAGS_CELL_HPP
#define PD_FLAGS_CELL_HPP

#include <pd_flags/attributes.hpp>

namespace pd {
namespace inner {

/* Everything here has a trivial destructor: the flag can be read until its module is gone, also
 * in destructors of other objects. */
template <class T, bool is_object>
class cell_of;

/* A value in a variable of its type: one load. */
template <class T>
class cell_of<T, false> {
 public:
  using value_type = T;
  PD__INLINE void start(const T &value, pd_flag_def &def) {
    cell_ = type_of<T>::to(value);
    detail::put(def.default_value, static_cast<typename type_of<T>::member>(cell_));
    def.cell = &cell_;
  }
  PD__INLINE T get() const noexcept {
    typename type_of<T>::cell value;
    __atomic_load(&cell_, &value,
                  type_of<T>::type == PD_TYPE_string ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
    return type_of<T>::from(value);
  }

 private:
  typename type_of<T>::cell cell_;
};

/* An object that is made from the text in the variable. The registry's texts are never freed, and
 * are equal exactly if their addresses are. So the objects made from them are kept too, in a list
 * with their texts, and the latest one is cached separately. A read is two loads and a comparison;
 * the first read of a new text makes the object. */
template <class T>
class cell_of<T, true> {
  static_assert(is_complete<string_for<T>>::value,
                "include <string> before a flag of std::string, or of another type that is made "
                "from text: an enum, a list, an optional value, your own");

 public:
  using value_type = const T &;

  PD__LOCAL void start(const T &value, pd_flag_def &def) {
    text_ = inner::keep(type_of<T>::format(value));
    insert(text_, new T(value));
    def.default_value.str = text_;
    def.cell = &text_;
  }

  PD__INLINE const T &get() const {
    const char *text = __atomic_load_n(&text_, __ATOMIC_ACQUIRE);
    const made *last = __atomic_load_n(&last_, __ATOMIC_ACQUIRE);
    return last && last->text == text ? *last->value : find(text);
  }

 private:
  struct made {
    const char *text;
    const T *value;
    const made *next;
  };

  PD__LOCAL const T &insert(const char *text, const T *value) const {
    made *fresh = new made{text, value, __atomic_load_n(&all_, __ATOMIC_ACQUIRE)};
    while (!__atomic_compare_exchange_n(&all_, &fresh->next, fresh, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
    }
    __atomic_store_n(&last_, fresh, __ATOMIC_RELEASE);
    return *value;
  }

  /* Several threads may do this at once, with the same result. Text that can't be read wasn't
   * checked here, because another module defines the flag: it counts as the default. */
  PD__LOCAL __attribute__((noinline)) const T &find(const char *text) const {
    const made *equal = nullptr, *first = nullptr;
    if (!text) return none();
    for (const made *at = __atomic_load_n(&all_, __ATOMIC_ACQUIRE); at; at = at->next) {
      if (at->text == text) {
        __atomic_store_n(&last_, at, __ATOMIC_RELEASE);
        return *at->value;
      }
      if (__builtin_strcmp(at->text, text) == 0) equal = at;
      first = at;
    }
    if (equal) return insert(text, equal->value);
    T value{};
    string_for<T> why;
    bool read = type_of<T>::parse(text, value, why);
    return insert(text, read || !first ? new T(std::move(value)) : first->value);
  }

  /* For a flag that isn't constructed yet. */
  PD__LOCAL static const T &none() {
    static const T *empty = new T{};
    return *empty;
  }

  const char *text_;
  mutable const made *last_;
  mutable const made *all_;
};

}  // namespace inner
}  // namespace pd

#endif /* PD_FLAGS_CELL_HPP */
