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

/* host::flag_find(...) calls pd_flag_find of the C header through the host of this module. Only
 * those of the table's functions exist that these headers use, which are defined as a comma: all of
 * them would cost each source file as much as the rest of this one. */
#define PD__CPP_USES_error_list_new ,
#define PD__CPP_USES_error_list_free ,
#define PD__CPP_USES_error_list_count ,
#define PD__CPP_USES_error_list_at ,
#define PD__CPP_USES_flag_find ,
#define PD__CPP_USES_flag_get_text ,
#define PD__CPP_USES_flag_reset ,
#define PD__CPP_USES_flag_set_by_name ,
#define PD__CPP_USES_flag_set_from_string ,
#define PD__CPP_USES_hook_remove ,
#define PD__CPP_USES_module_load_as ,
#define PD__CPP_USES_module_unload ,
#define PD__CPP_USES_parse_argv ,
#define PD__CPP_USES_scope_attach ,
#define PD__CPP_USES_scope_capture ,
#define PD__CPP_USES_scope_detach ,
#define PD__CPP_USES_scope_pop ,
#define PD__CPP_USES_scope_push ,
#define PD__CPP_USES_scope_release ,
#define PD__CPP_USES_warning_report ,
#define PD__CPP_USES_watcher_add ,
#define PD__CPP_USES_flag_get_bool ,
#define PD__CPP_USES_flag_get_int32 ,
#define PD__CPP_USES_flag_get_uint32 ,
#define PD__CPP_USES_flag_get_int64 ,
#define PD__CPP_USES_flag_get_uint64 ,
#define PD__CPP_USES_flag_get_double ,
#define PD__CPP_USES_flag_get_string ,
#define PD__CPP_USES_flag_set_bool ,
#define PD__CPP_USES_flag_set_int32 ,
#define PD__CPP_USES_flag_set_uint32 ,
#define PD__CPP_USES_flag_set_int64 ,
#define PD__CPP_USES_flag_set_uint64 ,
#define PD__CPP_USES_flag_set_double ,
#define PD__CPP_USES_flag_set_string ,
#define PD__CPP_SECOND(first, second, ...) second
#define PD__CPP_CHOOSE(...) PD__CPP_SECOND(__VA_ARGS__)
#define PD__CPP_IF_USED(name, make) PD__CPP_CHOOSE(PD__CPP_USES_##name make, PD__CPP_SKIP, )
#define PD__CPP_SKIP(...)
#define PD__CPP_STATUS(name, parameters, arguments) \
  PD__CPP_IF_USED(name, PD__CPP_MAKE_STATUS)(name, parameters, arguments)
#define PD__CPP_RESULT(result, name, parameters, arguments) \
  PD__CPP_IF_USED(name, PD__CPP_MAKE_RESULT)(result, name, parameters, arguments)
#define PD__CPP_VOID(name, parameters, arguments) \
  PD__CPP_IF_USED(name, PD__CPP_MAKE_VOID)(name, parameters, arguments)
#define PD__CPP_MAKE_STATUS(name, parameters, arguments)                         \
  PD__LAZY pd_status name parameters {                                           \
    const pd_table *table = pd__table_with(offsetof(pd_table, name));            \
    return table ? table->name arguments : pd__refuse_missing(err, "pd_" #name); \
  }
#define PD__CPP_MAKE_RESULT(result, name, parameters, arguments)                 \
  PD__LAZY result name parameters {                                              \
    const pd_table *table = pd__table_with(offsetof(pd_table, name));            \
    result none{};                                                               \
    return table ? table->name arguments : none;                                 \
  }
#define PD__CPP_MAKE_VOID(name, parameters, arguments)                           \
  PD__LAZY void name parameters {                                                \
    const pd_table *table = pd__table_with(offsetof(pd_table, name));            \
    if (table) table->name arguments;                                            \
  }
namespace host {
PD_TABLE_MAP(PD__CPP_STATUS, PD__CPP_RESULT, PD__CPP_VOID)
}  // namespace host

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
