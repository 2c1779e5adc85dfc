/* Scopes of scoped flags as C++ objects; pd_flags.hpp includes this.
 *
 *     pd::scoped_value guard{FLAGS_level, 9};      // until the end of the block, in this thread
 *
 *     pd::scope_capture context;                   // the scopes of this thread, for another one:
 *     auto later = std::async(std::launch::async, [context] { return context.run(work); });
 */
#ifndef PD_FLAGS_SCOPE_HPP
#define PD_FLAGS_SCOPE_HPP

#include <pd_flags/names_push.h>

#include <pd_flags/status.hpp>

#include <type_traits>

namespace pd {
namespace inner {

/* The text of a `value` that isn't a value of T, or nullptr. */
template <class T, class V>
PD__LOCAL inline const char *unfit(V value, char (&text)[24], std::true_type /* integers */) {
  bool fits = static_cast<V>(static_cast<T>(value)) == value &&
              (static_cast<T>(value) < T()) == (value < V());
  return fits ? nullptr : detail::write_integer_to(text, +value);
}
template <class T, class V>
PD__LOCAL inline const char *unfit(V, char (&)[24], std::false_type) {
  return nullptr;
}

/* Writes a value for a scope into an assignment. `text` must outlive it. */
template <class T>
struct scope_item {
  template <class V>
  PD__LOCAL static void give(pd_assignment &item, V value, char (&text)[24]) {
    static_assert(std::is_arithmetic<V>::value, "the flag is a number, and takes a number");
    static_assert(std::is_floating_point<T>::value || std::is_integral<V>::value,
                  "the flag is an integer, and takes an integer");
    static_assert(!std::is_same<T, bool>::value || std::is_same<V, bool>::value,
                  "the flag is a bool, and takes a bool");
    item.text = unfit<T>(value, text, std::is_integral<T>()); /* the registry says why not */
    put(item, static_cast<T>(value));
  }

 private:
#define PD__PUT(name, number, ctype, member_)                      \
  PD__LOCAL static void put(pd_assignment &item, ctype value) {    \
    item.type = PD_TYPE_##name;                                    \
    item.value.member_ = value;                                    \
  }
  PD_TYPE_MAP(PD__PUT)
#undef PD__PUT
};
template <>
struct scope_item<const char *> {
  PD__LOCAL static void give(pd_assignment &item, given_text value, char (&)[24]) {
    item.text = value.c_str();
  }
};

}  // namespace inner

/* Gives a scoped flag a value in this thread, as long as the object lives. If the value is refused,
 * the constructor throws pd::error; with `why` it writes the status there instead, as it must
 * without exceptions. Destroy it on the thread that made it, in any order. */
class scoped_value {
 public:
  template <class T, detail::scoped_cell<T> *cell, class V>
  PD__LOCAL scoped_value(const scoped_view<T, cell> &flag, const V &value,
                         const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    this->template open<T>(flag.handle(), value, file, line).template or_throw<V>();
  }
  template <class T, detail::scoped_cell<T> *cell, class V>
  PD__LOCAL scoped_value(const scoped_view<T, cell> &flag, const V &value, status *why,
                         const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    *why = this->template open<T>(flag.handle(), value, file, line);
  }
  template <class Flag, class V>
  PD__LOCAL scoped_value(const Flag &, const V &) {
    static_assert(inner::never<Flag>::value,
                  "only scoped flags have values of one thread: define it by "
                  "PD_DEFINE_SCOPED_<type>, declare it by PD_DECLARE_SCOPED_<type>");
  }
  scoped_value(const scoped_value &) = delete;
  scoped_value &operator=(const scoped_value &) = delete;
  PD__LOCAL ~scoped_value() {
    if (scope_) (void)PD__HOST(scope_pop)(scope_, nullptr);
  }

 private:
  template <class T, class V>
  PD__LOCAL status open(pd_flag *flag, const V &value, const char *file, int line) {
    pd_assignment item = pd_assignment();
    pd_origin origin = {PD_SOURCE_SCOPE, static_cast<uint32_t>(line), file, 0};
    char text[24];
    item.flag = flag;
    inner::scope_item<T>::give(item, value, text);
    return inner::call([&](pd_error *err_) {
      return PD__HOST(scope_push)(&item, 1, &origin, nullptr, &scope_, err_);
    });
  }

  pd_scope scope_ = 0;
};

class scope_attach;

/* The scopes of the thread that makes it, for other threads. Copies have the same scopes. Any
 * number of threads may use it at once. */
class scope_capture {
 public:
  PD__LOCAL scope_capture() {
    if (PD__HOST(scope_capture)(&context_, nullptr) != PD_OK) context_ = nullptr;
  }
  PD__LOCAL scope_capture(const scope_capture &other);
  PD__LOCAL scope_capture(scope_capture &&other) noexcept : context_(other.context_) {
    other.context_ = nullptr;
  }
  PD__LOCAL scope_capture &operator=(scope_capture other) noexcept {
    std::swap(context_, other.context_);
    return *this;
  }
  PD__LOCAL ~scope_capture() { PD__HOST(scope_release)(context_); }

  /* Call `function` in these scopes, and return what it returns. */
  template <class Function>
  PD__LOCAL auto run(Function &&function) const -> decltype(function());

 private:
  friend class scope_attach;
  pd_scope_context *context_ = nullptr;
};

/* Makes captured scopes those of this thread, as long as the object lives. */
class scope_attach {
 public:
  PD__LOCAL explicit scope_attach(const scope_capture &captured) {
    if (PD__HOST(scope_attach)(captured.context_, &attached_, nullptr) != PD_OK) attached_ = 0;
  }
  scope_attach(const scope_attach &) = delete;
  scope_attach &operator=(const scope_attach &) = delete;
  PD__LOCAL ~scope_attach() {
    if (attached_) (void)PD__HOST(scope_detach)(attached_, nullptr);
  }

 private:
  pd_scope attached_ = 0;
};

inline scope_capture::scope_capture(const scope_capture &other) {
  scope_attach attached(other);
  if (PD__HOST(scope_capture)(&context_, nullptr) != PD_OK) context_ = nullptr;
}

template <class Function>
PD__LOCAL inline auto scope_capture::run(Function &&function) const -> decltype(function()) {
  scope_attach attached(*this);
  return function();
}

}  // namespace pd

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_SCOPE_HPP */
