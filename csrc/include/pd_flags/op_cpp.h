/* The C++ side of pd_flags/op.h: codes of types by templates. */
#ifndef PD_FLAGS_OP_CPP_H
#define PD_FLAGS_OP_CPP_H

namespace pd {
namespace detail {

constexpr uint8_t integer_code(size_t size, bool is_signed) {
  return static_cast<uint8_t>((size == 1   ? PD_CODE_INT8
                               : size == 2 ? PD_CODE_INT16
                               : size == 4 ? PD_CODE_INT32
                                           : PD_CODE_INT64) + !is_signed);
}

template <class T, bool is_enum>
struct unlisted_code {
  static constexpr uint8_t value = __is_class(T) ? PD_CODE_STRUCT : 0;
};
template <class T>
struct unlisted_code<T, true> {
  static constexpr uint8_t value =
      integer_code(sizeof(T), static_cast<__underlying_type(T)>(-1) < 0);
};

/* 0 for a type that has no code. Classes may be incomplete. */
template <class T>
struct plain_code : unlisted_code<T, __is_enum(T)> {};
template <class T>
struct plain_code<volatile T> {
  static constexpr uint8_t value = 0;
};
#define PD__PLAIN_CODE(type, code)                                             \
  template <>                                                                  \
  struct plain_code<type> {                                                    \
    static constexpr uint8_t value = code;                                     \
  };
#define PD__PLAIN_INTEGER(type)                                                \
  PD__PLAIN_CODE(signed type, integer_code(sizeof(type), true))                \
  PD__PLAIN_CODE(unsigned type, integer_code(sizeof(type), false))
PD__PLAIN_CODE(void, PD_CODE_VOID)
PD__PLAIN_CODE(bool, PD_CODE_BOOL)
PD__PLAIN_CODE(char, PD_CODE_CHAR)
PD__PLAIN_INTEGER(char)
PD__PLAIN_INTEGER(short)
PD__PLAIN_INTEGER(int)
PD__PLAIN_INTEGER(long)
__extension__ PD__PLAIN_CODE(signed long long, integer_code(8, true))
__extension__ PD__PLAIN_CODE(unsigned long long, integer_code(8, false))
PD__PLAIN_CODE(wchar_t, integer_code(sizeof(wchar_t), static_cast<wchar_t>(-1) < 0))
PD__PLAIN_CODE(char16_t, PD_CODE_UINT16)
PD__PLAIN_CODE(char32_t, PD_CODE_UINT32)
PD__PLAIN_CODE(float, PD_CODE_FLOAT)
PD__PLAIN_CODE(double, PD_CODE_DOUBLE)
#undef PD__PLAIN_INTEGER
#undef PD__PLAIN_CODE

template <class T>
struct type_code {
  static constexpr uint8_t value = plain_code<T>::value == PD_CODE_STRUCT ? 0
                                                                          : plain_code<T>::value;
};
template <class T>
struct type_code<const T> : type_code<T> {};
template <class T>
struct type_code<volatile T> : type_code<T> {};
template <class T>
struct type_code<const volatile T> : type_code<T> {};
template <class T>
struct type_code<T *__restrict__> : type_code<T *> {};
template <class T>
struct type_code<T *> {
  static constexpr uint8_t value =
      plain_code<T>::value ? static_cast<uint8_t>(plain_code<T>::value + PD_CODE_POINTER) : 0;
};
template <class T>
struct type_code<const T *> {
  static constexpr uint8_t value =
      plain_code<T>::value ? static_cast<uint8_t>(plain_code<T>::value + PD_CODE_CONST_POINTER) : 0;
};

template <class T>
constexpr uint8_t checked_code() {
  static_assert(type_code<T>::value != 0,
                "a type of an operation is void, bool, char, an integer, float, double, or a "
                "pointer to one of these or to a struct");
  return type_code<T>::value;
}

/* For sizeof: a char[2] if the argument is a function of the type of the slot, also one that is
 * noexcept, which is another type since C++17; else the `...` takes it. Neither has a body. */
template <class T>
char (&op_fits(T))[2];
template <class T>
char op_fits(...);

}  // namespace detail
}  // namespace pd

#define PD__CODE(T) ::pd::detail::checked_code<T>()
#define PD__OP_CHECK(slot, text, function, what)                               \
  static_assert(                                                               \
      sizeof(::pd::detail::op_fits<decltype(slot)>(function)) == 2,            \
      text ": " what " is of another type than the operation")

#endif /* PD_FLAGS_OP_CPP_H */
