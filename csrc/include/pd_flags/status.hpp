/* How pd_flags.hpp reaches the registry, and how it reports errors. */
#ifndef PD_FLAGS_STATUS_HPP
#define PD_FLAGS_STATUS_HPP

#include <pd_flags.h>
#include <pd_flags/catching.hpp>
#include <pd_flags/late.h>
#include <pd_flags/values.hpp>

#include <cstddef>
#include <new>
#include <utility>

#if __cplusplus >= 201703L
#define PD__NODISCARD [[nodiscard]]
#else
#define PD__NODISCARD
#endif

namespace pd {

class status;

namespace inner {

using detail::string_for;

/* Whether the type is complete where this is first asked. */
template <class T, class = void>
struct is_complete : std::false_type {};
template <class T>
struct is_complete<T, decltype(static_cast<void>(sizeof(T)))> : std::true_type {};

/* A text that a caller gives: C text, a std::string, or what refers to one, such as its flag. */
class given_text {
 public:
  template <class Text>
  PD__LOCAL given_text(const Text &text) : text_(find(text, 0)) {}
  PD__LOCAL const char *c_str() const noexcept { return text_; }

 private:
  PD__LOCAL static const char *find(const char *text, int) { return text; }
  template <class Text>
  PD__LOCAL static auto find(const Text &text, int) -> decltype(text.c_str()) {
    return text.c_str();
  }
  template <class Text>
  PD__LOCAL static auto find(const Text &text, long) -> decltype(text.get().c_str()) {
    return text.get().c_str();
  }
  const char *text_;
};

/* C text that its copies share. */
class shared_text {
 public:
  PD__LOCAL shared_text() noexcept : held_(nullptr) {}
  PD__LOCAL explicit shared_text(const char *text) : held_(nullptr) {
    if (!*text) return;
    size_t size = __builtin_strlen(text) + 1;
    held_ = new (::operator new(sizeof(held) + size)) held();
    held_->users = 1;
    __builtin_memcpy(held_ + 1, text, size);
  }
  PD__LOCAL shared_text(const shared_text &other) noexcept : held_(other.held_) {
    if (held_) __atomic_add_fetch(&held_->users, 1, __ATOMIC_RELAXED);
  }
  PD__LOCAL shared_text(shared_text &&other) noexcept : held_(other.held_) {
    other.held_ = nullptr;
  }
  PD__LOCAL shared_text &operator=(shared_text other) noexcept {
    held *own = held_;
    held_ = other.held_;
    other.held_ = own;
    return *this;
  }
  PD__LOCAL ~shared_text() {
    if (!held_ || __atomic_sub_fetch(&held_->users, 1, __ATOMIC_ACQ_REL) != 0) return;
    ::operator delete(held_);
  }

  PD__LOCAL const char *c_str() const noexcept {
    return held_ ? reinterpret_cast<const char *>(held_ + 1) : "";
  }

 private:
  struct held { /* in front of the text */
    uint32_t users;
  };
  held *held_;
};

}  // namespace inner

/* The exception that or_throw and value_or_throw throw. */
class error : public std::exception {
 public:
  PD__LOCAL error(pd_status code, inner::given_text message)
      : code_(code), text_(message.c_str()) {}
  PD__LOCAL error(pd_status code, const inner::shared_text &message)
      : code_(code), text_(message) {}
  PD__INLINE pd_status code() const noexcept { return code_; }
  PD__LOCAL const char *what() const noexcept override { return text_.c_str(); }

 private:
  pd_status code_;
  inner::shared_text text_;
};

namespace inner {

/* ---- The host's functions ---- */

PD__INLINE pd_error *last_of(pd_error *err) { return err; }
template <class First, class Second, class... More>
PD__INLINE pd_error *last_of(First, Second second, More... more) {
  return inner::last_of(second, more...);
}

/* The result of a function that the host lacks. */
template <class Result>
struct missing {
  template <class... Arguments>
  PD__LOCAL static Result result(const char *, Arguments...) {
    return Result();
  }
};
template <>
struct missing<pd_status> {
  template <class... Arguments>
  PD__LOCAL static pd_status result(const char *name, Arguments... arguments) {
    return pd__refuse_missing(inner::last_of(arguments...), name);
  }
};

template <class Result, class... Parameters>
struct host_function {
  Result (*pd_table::*field)(Parameters...);
  size_t offset;
  const char *name;
  PD__LOCAL Result operator()(Parameters... arguments) const {
    const pd_table *table = pd__table_with(offset);
    return table ? (table->*field)(arguments...) : missing<Result>::result(name, arguments...);
  }
};
template <class Result, class... Parameters>
PD__LOCAL host_function<Result, Parameters...> host(Result (*pd_table::*field)(Parameters...),
                                                    size_t offset, const char *name) {
  return {field, offset, name};
}

/* PD__HOST(flag_find)(...) calls pd_flag_find of the C header through the host of this module. */
#define PD__HOST(name) ::pd::inner::host(&pd_table::name, offsetof(pd_table, name), "pd_" #name)

template <class>
struct never {
  static constexpr bool value = false;
};

template <class D>
[[noreturn]] PD__LOCAL inline void raise(pd_status code, const shared_text &message) {
#if PD__EXCEPTIONS
  throw error(code, message);
#else
  (void)code, (void)message;
  static_assert(never<D>::value,
                "or_throw needs exceptions, which this source is compiled without: look at ok()");
  __builtin_trap();
#endif
}

}  // namespace inner

/* The result of an operation. */
class PD__NODISCARD status {
 public:
  PD__LOCAL status() : code_(PD_OK) {}
  PD__LOCAL status(pd_status code, inner::given_text message)
      : code_(code), message_(message.c_str()) {}
  PD__LOCAL status(pd_status code, const pd_error &err)
      : code_(code), message_(code == PD_OK ? "" : err.message) {}

  PD__LOCAL bool ok() const noexcept { return code_ == PD_OK; }
  PD__LOCAL explicit operator bool() const noexcept { return ok(); }
  PD__LOCAL pd_status code() const noexcept { return code_; }
  /* What went wrong, where, and what was expected, in one line; "" for success. A std::string. */
  template <class D = void>
  PD__LOCAL inner::string_for<D> message() const {
    static_assert(inner::is_complete<inner::string_for<D>>::value,
                  "include <string> before calling message(), which returns a std::string");
    return inner::string_for<D>(message_.c_str());
  }

  /* Throw pd::error unless ok(). */
  template <class D = void>
  PD__LOCAL void or_throw() const {
    if (!ok()) inner::raise<D>(code_, message_);
  }

 private:
  pd_status code_;
  inner::shared_text message_;
};

namespace inner {

/* The status of a function of the registry; `function` calls it with the error as last argument. */
template <class Function>
PD__LOCAL inline status call(const Function &function) {
  pd_error err;
  pd_status code = function(&err);
  return status(code, err);
}

}  // namespace inner

/* A value, or the status that says why there is none. */
template <class T>
class PD__NODISCARD result {
 public:
  PD__LOCAL result(T value) : value_(std::move(value)) {}
  PD__LOCAL result(pd::status why) : status_(std::move(why)), value_() {}

  PD__LOCAL bool ok() const noexcept { return status_.ok(); }
  PD__LOCAL explicit operator bool() const noexcept { return ok(); }
  PD__LOCAL const pd::status &status() const noexcept { return status_; }

  /* Only if ok(). */
  PD__LOCAL T &operator*() noexcept { return value_; }
  PD__LOCAL const T &operator*() const noexcept { return value_; }
  PD__LOCAL T *operator->() noexcept { return &value_; }
  PD__LOCAL const T *operator->() const noexcept { return &value_; }

  PD__LOCAL T value_or(T other) const { return ok() ? value_ : std::move(other); }
  template <class D = void>
  PD__LOCAL const T &value_or_throw() const {
    status_.template or_throw<D>();
    return value_;
  }

 private:
  pd::status status_;
  T value_;
};

}  // namespace pd

#endif /* PD_FLAGS_STATUS_HPP */
