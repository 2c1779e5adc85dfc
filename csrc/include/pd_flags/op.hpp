/* An operation of another module as an object, found by its name:
 *
 *     static pd::op<double(double, double)> power{"pow", fallback};
 *     double r = power(2.0, 0.5);
 *
 * like PD_IMPORT_OP. It is a static object and belongs to the module that constructs it; the name
 * must live as long as it does. `check` says why it was refused, for example because of its
 * signature. */
#ifndef PD_FLAGS_OP_HPP
#define PD_FLAGS_OP_HPP

#include <pd_flags/status.hpp>

namespace pd {

namespace detail {

/* The name of a type, as the compiler writes it. */
template <class T>
PD__LOCAL const char *named_type() {
  return __PRETTY_FUNCTION__;
}

/* "double (double, double)": the text between the = and the ]. */
template <class Function>
class signature_text {
 public:
  PD__LOCAL static const char *get() {
    static const signature_text made;
    return made.text_;
  }

 private:
  signature_text() : text_() {
    const char *at = __builtin_strrchr(named_type<Function>(), '=');
    size_t length = 0;
    for (at += at ? 2 : 0; at && *at && *at != ']' && length < sizeof text_ - 2; at++) {
      if (*at == '(' && length > 0 && text_[length - 1] != ' ') text_[length++] = ' ';
      text_[length++] = *at;
    }
  }
  char text_[400];
};

/* An import at run time. */
template <class Result, class... Parameters>
class op_import {
  static_assert(sizeof...(Parameters) <= 16, "an operation has at most 16 parameters");

 public:
  PD__LOCAL op_import(const char *name, void (*fallback)(), void (**slot)(), bool scoped,
                      const char *file, uint32_t line)
      : signature_(), def_(), late_() {
    signature_.name = name;
    signature_.text = signature_text<Result(Parameters...)>::get();
    const uint8_t codes[] = {PD__CODE(Result), PD__CODE(Parameters)..., 0};
    for (size_t i = 0; i < sizeof codes; i++) signature_.types[i] = codes[i];
    if (sizeof...(Parameters) == 0) signature_.types[1] = PD_CODE_VOID;
    def_.size = sizeof def_;
    def_.line = line;
    def_.kind = PD_KIND_OP_IMPORT;
    def_.scoped = scoped;
    def_.name = "native";
    def_.file = file;
    def_.signature = &signature_;
    def_.slot = slot;
    def_.choice.function = fallback;
    late_.size = sizeof late_;
    late_.def = static_cast<const pd_flag_def *>(static_cast<const void *>(&def_));
    pd_late_define(&late_, nullptr);
  }
  op_import(const op_import &) = delete;
  op_import &operator=(const op_import &) = delete;

  PD__LOCAL pd_status check(pd_error *err) const { return pd_late_check(&late_, err); }

 private:
  pd_op_signature signature_;
  pd_op_def def_;
  pd_late_def late_;
};

}  // namespace detail

template <class Function>
class op;

template <class Result, class... Parameters>
class op<Result(Parameters...)> {
 public:
  using function = Result (*)(Parameters...);

  PD__LOCAL op(const char *name, function fallback, const char *file = __builtin_FILE(),
               uint32_t line = static_cast<uint32_t>(__builtin_LINE()))
      : slot_(fallback),
        import_(name, reinterpret_cast<void (*)()>(fallback),
                reinterpret_cast<void (**)()>(&slot_), false, file, line) {}

  PD__INLINE Result operator()(Parameters... arguments) const {
    return __atomic_load_n(&slot_, __ATOMIC_ACQUIRE)(arguments...);
  }

  /* PD_OK, or why the import was refused. */
  PD__LOCAL pd_status check(pd_error *err) const { return import_.check(err); }

 private:
  function slot_;
  detail::op_import<Result, Parameters...> import_;
};

/* The same for a scoped operation, as PD_IMPORT_SCOPED_OP. */
template <class Function>
class scoped_op;

template <class Result, class... Parameters>
class scoped_op<Result(Parameters...)> {
 public:
  using function = Result (*)(Parameters...);

  PD__LOCAL scoped_op(const char *name, function fallback, const char *file = __builtin_FILE(),
                      uint32_t line = static_cast<uint32_t>(__builtin_LINE()))
      : slot_{reinterpret_cast<void (*)()>(fallback), nullptr, nullptr},
        import_(name, slot_.function, &slot_.function, true, file, line) {}

  PD__INLINE Result operator()(Parameters... arguments) const {
    return reinterpret_cast<function>(pd__op_found(&slot_))(arguments...);
  }

  PD__LOCAL pd_status check(pd_error *err) const { return import_.check(err); }

 private:
  pd_scoped_slot slot_;
  detail::op_import<Result, Parameters...> import_;
};

}  // namespace pd

#endif /* PD_FLAGS_OP_HPP */
