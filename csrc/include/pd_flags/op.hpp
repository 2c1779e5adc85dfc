/* An operation of another module as an object, found by its name:
 *
 *     static pd::op<double(double, double)> power{"pow", fallback};
 *     double r = power(2.0, 0.5);
 *
 * as PD_IMPORT_OP. It is a static object and belongs to the module that constructs it; the name must
 * live as long. `check` says why it was refused, for example because of its signature. */
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

/* "double (double, double)": what stands behind the = and before the ]. */
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

}  // namespace detail

template <class Function>
class op;

template <class Result, class... Parameters>
class op<Result(Parameters...)> {
  static_assert(sizeof...(Parameters) <= 16, "an operation has at most 16 parameters");

 public:
  using function = Result (*)(Parameters...);

  PD__LOCAL op(const char *name, function fallback, const char *file = __builtin_FILE(),
               uint32_t line = static_cast<uint32_t>(__builtin_LINE()))
      : slot_(fallback), signature_(), def_(), late_() {
    signature_.name = name;
    signature_.text = detail::signature_text<Result(Parameters...)>::get();
    const uint8_t codes[] = {PD__CODE(Result), PD__CODE(Parameters)..., 0};
    for (size_t i = 0; i < sizeof codes; i++) signature_.types[i] = codes[i];
    if (sizeof...(Parameters) == 0) signature_.types[1] = PD_CODE_VOID;
    def_.size = sizeof def_;
    def_.line = line;
    def_.kind = PD_KIND_OP_IMPORT;
    def_.name = "native";
    def_.file = file;
    def_.signature = &signature_;
    def_.slot = reinterpret_cast<void (**)(void)>(&slot_);
    def_.choice.function = reinterpret_cast<void (*)(void)>(fallback);
    late_.size = sizeof late_;
    late_.def = static_cast<const pd_flag_def *>(static_cast<const void *>(&def_));
    pd_late_define(&late_, nullptr);
  }
  op(const op &) = delete;
  op &operator=(const op &) = delete;

  PD__INLINE Result operator()(Parameters... arguments) const {
    return __atomic_load_n(&slot_, __ATOMIC_ACQUIRE)(arguments...);
  }

  /* PD_OK, or why the import was refused. */
  PD__LOCAL pd_status check(pd_error *err) const { return pd_late_check(&late_, err); }

 private:
  function slot_;
  pd_op_signature signature_;
  pd_op_def def_;
  pd_late_def late_;
};

}  // namespace pd

#endif /* PD_FLAGS_OP_HPP */
