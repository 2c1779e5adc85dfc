/* The flags of compat/absl/flags/flag.h: each is a pd::flag that is made when it is first used. */
#ifndef PD_FLAGS_ABSL_FLAG_HPP
#define PD_FLAGS_ABSL_FLAG_HPP

#include <absl/flags/declare.h>
#include <pd_flags/absl_marshalling.hpp>

namespace pd {
namespace absl_flags PD__LOCAL {

template <class T>
using made = ::pd::flag<typename slot<T>::type>;

/* What this module knows about its flags and the registry doesn't: their types. */
struct known_flag {
  const char *name;
  const void *type; /* type_tag<T>() */
  const known_flag *next;
};
PD__LOCAL inline const known_flag *&known_flags() {
  static const known_flag *first = nullptr;
  return first;
}
template <class T>
PD__LOCAL const void *type_tag() {
  static const char tag = 0;
  return &tag;
}

template <class T>
PD__LOCAL made<T> &own(const ::pd::absl_types::Flag<T> &flag) {
  return *static_cast<made<T> *>(flag.own());
}

/* Defines the flag; what .OnUpdate() follows. */
class registrar {
 public:
  template <class T>
  PD__LOCAL registrar(const ::pd::absl_types::Flag<T> &flag, void (**callback)())
      : callback_(callback) {
    known_flags() = new known_flag{flag.name, type_tag<T>(), known_flags()};
    flag.own();
  }
  /* Abseil calls it once at the start, too. */
  PD__LOCAL registrar OnUpdate(void (*callback)()) && {
    __atomic_store_n(callback_, callback, __ATOMIC_RELEASE);
    callback();
    return *this;
  }

 private:
  void (**callback_)();
};

/* A retired bool accepts --noNAME, too; the values of other retired flags aren't read. */
template <class T>
using retired = ::pd::flag<
    typename std::conditional<std::is_same<T, bool>::value, bool, std::string>::type>;

PD__LOCAL inline const char *why_retired(const std::string &why) {
  return why.empty() ? "it has no effect" : ::pd::inner::keep(why);
}

PD__LOCAL inline void call(void (**callback)()) {
  void (*function)() = __atomic_load_n(callback, __ATOMIC_ACQUIRE);
  if (function) function();
}

}  // namespace absl_flags
}  // namespace pd

namespace absl {

/* The current value. Any thread. */
template <class T>
PD__LOCAL T GetFlag(const ::pd::absl_types::Flag<T> &flag) {
  return ::pd::absl_flags::slot<T>::open(::pd::absl_flags::own(flag).get());
}

/* Abseil's can't fail. A value that a validator of another module rejects becomes a warning. */
template <class T, class V>
PD__LOCAL void SetFlag(::pd::absl_types::Flag<T> *flag, const V &value) {
  const T next(value);
  ::pd::status set = ::pd::absl_flags::own(*flag).set(::pd::absl_flags::slot<T>::close(next));
  if (!set.ok()) pd_warning_report(set.message().c_str(), nullptr);
}

}  // namespace absl

/* No `;` at the end: .OnUpdate(...) may follow. */
#define PD__ABSL_FLAG(Type, flag, value, text)                                           \
  ABSL_DECLARE_FLAG(Type, flag);                                                         \
  static void (*pd__absl_callback_##flag)();                                             \
  static Type pd__absl_default_##flag() { return value; }                                \
  static void *pd__absl_own_##flag() {                                                   \
    static ::pd::absl_flags::made<Type> own(                                             \
        {#flag, __FILE__, __LINE__},                                                     \
        ::pd::absl_flags::slot<Type>::close(pd__absl_default_##flag()),                  \
        ::pd::inner::keep(text),                                                         \
        ::pd::watch([] { ::pd::absl_flags::call(&pd__absl_callback_##flag); }));         \
    return &own;                                                                         \
  }                                                                                      \
  ::pd::absl_types::Flag<Type> FLAGS_##flag = {#flag, pd__absl_own_##flag};              \
  static ::pd::absl_flags::registrar pd__absl_registrar_##flag                           \
      __attribute__((unused)) =                                                          \
          ::pd::absl_flags::registrar(FLAGS_##flag, &pd__absl_callback_##flag)

#define PD__ABSL_RETIRED_FLAG(Type, flag, why)                                           \
  static ::pd::absl_flags::retired<Type> pd__absl_retired_##flag __attribute__((unused)) \
  {                                                                                      \
    {#flag, __FILE__, __LINE__}, {}, "", ::pd::retired(::pd::absl_flags::why_retired(why)) \
  }

#endif /* PD_FLAGS_ABSL_FLAG_HPP */
