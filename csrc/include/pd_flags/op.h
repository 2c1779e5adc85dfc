/* Operations that several modules implement, one of which a flag chooses.
 *
 *     PD_DEFINE_OP(pow, double, (double, double), pow_portable, "x to the power of y");
 *
 * defines the operation pow and its native implementation, a function of that type.
 *
 *     PD_IMPL(pow, fast, pow_fast, .rank = 100, .usable = has_avx2);
 *
 * adds another implementation, the candidate "fast". It must follow a declaration of the operation:
 * PD_DEFINE_OP, PD_DECLARE_OP in other files of the module that defines or imports it, or
 *
 *     PD_IMPORT_OP(pow, double, (double, double), fallback);
 *
 * in another module, whichever is loaded first. `fallback` runs while there is no implementation of
 * the operation. `.usable` is NULL, or a function that returns NULL or a static text that says why
 * the candidate can't run here. It is called once, when the candidate might be chosen.
 *
 *     double r = PD_CALL(pow)(2.0, 0.5);
 *
 * calls the chosen implementation, by one load and an indirect call, from any thread. Without a
 * registry, that is the module's own. PD_DEFINE_OP_AS(pow_i, "pow", double, (double, int32_t), …)
 * gives a second signature of a name its own identifier.
 *
 *     PD_DEFINE_SCOPED_OP(pow, double, (double, double), pow_portable, "x to the power of y");
 *     double r = PD_SCOPED_CALL(pow)(2.0, 0.5);
 *
 * The choice for a scoped operation may differ by thread or task: pd_scope_push accepts its flag.
 * Other files use PD_DECLARE_SCOPED_OP, other modules PD_IMPORT_SCOPED_OP.
 *
 * The parameters are types without names; up to 16, (void) for none. Types are void, bool, char,
 * integers, float, double, and pointers to these or to structs; others don't compile. Structs are
 * distinguished by their names, with all namespaces: write them identically in all modules.
 * `.arrays = "f32[m,n], …"` may follow the help text; see pd_op_about. In a source file with
 * PD_NO_SHORT_NAMES, write PD_OP_DEFINE, PD_OP_DEFINE_SCOPED, PD_OP_DECLARE, PD_OP_IMPORT,
 * PD_OP_IMPL, PD_OP_CALL and so on. */
#ifndef PD_FLAGS_OP_H
#define PD_FLAGS_OP_H

#include <pd_flags/record.h>

/* Codes of types, for pd_op_signature. A pointer has the code of what it points to, plus 32, or
 * plus 64 if that is const. Integer types are distinguished only by size and sign. Numbers never
 * change.
 * X(name, number) */
#define PD_CODE_MAP(X)                                                         \
  X(VOID, 1) X(BOOL, 2) X(CHAR, 3) X(INT8, 4) X(UINT8, 5) X(INT16, 6) X(UINT16, 7) \
  X(INT32, 8) X(UINT32, 9) X(INT64, 10) X(UINT64, 11) X(FLOAT, 12) X(DOUBLE, 13) X(STRUCT, 14) \
  X(OBJECT, 15) /* of another language: in no record of a module */
#define PD__CODE_ENUM(name, number) PD_CODE_##name = number,
enum { PD_CODE_MAP(PD__CODE_ENUM) PD_CODE_POINTER = 32, PD_CODE_CONST_POINTER = 64 };

/* ---- PD__CODES(result, (parameters)): the codes of each, with commas between ---- */

/* `params` includes its parentheses: after PD__PARAM_CODES, it is the argument list of that
 * macro. */
#define PD__CODES(result, params) PD__CODE(result), PD__PARAM_CODES params

/* Counts its arguments: they push the numbers to the right, so that the parameter `count` gets
 * their number. It is pasted, which makes the name of the macro for that many. */
#define PD__PARAM_CODES(...)                                                   \
  PD__PARAM_CODES_OF(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ) \
  (__VA_ARGS__)
#define PD__PARAM_CODES_OF(arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11, \
                           arg12, arg13, arg14, arg15, arg16, count, ...)      \
  PD__PARAM_CODES_##count

/* A macro can't call itself, so each leaves all but one type to the next. */
#define PD__PARAM_CODES_1(type) PD__CODE(type)
/* The others: made by tools/lists.py, for <n> from 2 to 16:
#define PD__PARAM_CODES_<n>(type, ...) PD__CODE(type), PD__PARAM_CODES_<n-1>(__VA_ARGS__)
*/
#define PD__PARAM_CODES_2(type, ...) PD__CODE(type), PD__PARAM_CODES_1(__VA_ARGS__)
#define PD__PARAM_CODES_3(type, ...) PD__CODE(type), PD__PARAM_CODES_2(__VA_ARGS__)
#define PD__PARAM_CODES_4(type, ...) PD__CODE(type), PD__PARAM_CODES_3(__VA_ARGS__)
#define PD__PARAM_CODES_5(type, ...) PD__CODE(type), PD__PARAM_CODES_4(__VA_ARGS__)
#define PD__PARAM_CODES_6(type, ...) PD__CODE(type), PD__PARAM_CODES_5(__VA_ARGS__)
#define PD__PARAM_CODES_7(type, ...) PD__CODE(type), PD__PARAM_CODES_6(__VA_ARGS__)
#define PD__PARAM_CODES_8(type, ...) PD__CODE(type), PD__PARAM_CODES_7(__VA_ARGS__)
#define PD__PARAM_CODES_9(type, ...) PD__CODE(type), PD__PARAM_CODES_8(__VA_ARGS__)
#define PD__PARAM_CODES_10(type, ...) PD__CODE(type), PD__PARAM_CODES_9(__VA_ARGS__)
#define PD__PARAM_CODES_11(type, ...) PD__CODE(type), PD__PARAM_CODES_10(__VA_ARGS__)
#define PD__PARAM_CODES_12(type, ...) PD__CODE(type), PD__PARAM_CODES_11(__VA_ARGS__)
#define PD__PARAM_CODES_13(type, ...) PD__CODE(type), PD__PARAM_CODES_12(__VA_ARGS__)
#define PD__PARAM_CODES_14(type, ...) PD__CODE(type), PD__PARAM_CODES_13(__VA_ARGS__)
#define PD__PARAM_CODES_15(type, ...) PD__CODE(type), PD__PARAM_CODES_14(__VA_ARGS__)
#define PD__PARAM_CODES_16(type, ...) PD__CODE(type), PD__PARAM_CODES_15(__VA_ARGS__)
/* end of the others */

/* ---- PD__CODE(type): the code of a type, as a constant ---- */

#ifdef __cplusplus
#include <pd_flags/op_cpp.h>
#else

/* A builtin, since _Generic chooses by the type of a value, and void has none. */
#define PD__SAME(type, other) __builtin_types_compatible_p(type, other)

/* The code of an integer by size and sign: that of an unsigned one is the next after the signed. */
#define PD__INTEGER_CODE(integer)                                              \
  ((sizeof(integer) == 1   ? PD_CODE_INT8                                      \
    : sizeof(integer) == 2 ? PD_CODE_INT16                                     \
    : sizeof(integer) == 4 ? PD_CODE_INT32                                     \
                           : PD_CODE_INT64) + ((integer)-1 > (integer)0))

/* X(type, listed, code) for each type that has a code. `type` is passed on to X. */
#define PD__LISTED_TYPES(X, type)                                              \
  X(type, void, PD_CODE_VOID) X(type, _Bool, PD_CODE_BOOL) X(type, char, PD_CODE_CHAR) \
  X(type, signed char, PD__INTEGER_CODE(signed char))                          \
  X(type, unsigned char, PD__INTEGER_CODE(unsigned char))                      \
  X(type, short, PD__INTEGER_CODE(short))                                      \
  X(type, unsigned short, PD__INTEGER_CODE(unsigned short))                    \
  X(type, int, PD__INTEGER_CODE(int)) X(type, unsigned, PD__INTEGER_CODE(unsigned)) \
  X(type, long, PD__INTEGER_CODE(long))                                        \
  X(type, unsigned long, PD__INTEGER_CODE(unsigned long))                      \
  X(type, long long, PD__INTEGER_CODE(long long))                              \
  X(type, unsigned long long, PD__INTEGER_CODE(unsigned long long))            \
  X(type, float, PD_CODE_FLOAT) X(type, double, PD_CODE_DOUBLE)

/* The code of a listed type, or 0: the sum of all codes, each times 1 or 0. */
#define PD__CODE_IF_SAME(type, listed, code) PD__SAME(type, listed) * (code) +
#define PD__LISTED_CODE(type) (PD__LISTED_TYPES(PD__CODE_IF_SAME, type) 0)

/* The compiler reads every branch, even those for other types. So wherever a pointer is needed, a
 * type that isn't one is replaced: __builtin_choose_expr gives one of two values whose types
 * differ. All unlisted types must be pointers: else the cast of 0 or the dereferencing doesn't
 * compile. */
struct pd__any { char unused; };
#define PD__UNLISTED(type)                                                     \
  __builtin_choose_expr(PD__LISTED_CODE(type), (struct pd__any *)1, (type)0)

/* The code of a pointer to a listed type, or 0. */
#define PD__POINTER_CASES(type, listed, code)                                  \
  listed *: PD_CODE_POINTER + (code), const listed *: PD_CODE_CONST_POINTER + (code),
#define PD__POINTER_CODE(type)                                                 \
  _Generic(PD__UNLISTED(type), PD__LISTED_TYPES(PD__POINTER_CASES, type) default: 0)

/* All other pointers must be to structs, which may be incomplete: gcc has an attribute that accepts
 * nothing else, clang a builtin. `1 ? pointer : (void *)1` is void *, const void * if the struct is
 * const, and another type if it is volatile. */
#ifdef __clang__
#define PD__POINTS_TO_STRUCT(pointer) (__builtin_classify_type(*(pointer)) == 12)
#else
#define PD__POINTS_TO_STRUCT(pointer)                                          \
  !PD__SAME(__typeof__(*(pointer)) __attribute__((designated_init)), int)
#endif
#define PD__STRUCT_POINTER(type)                                               \
  __builtin_choose_expr(PD__POINTER_CODE(type), (struct pd__any *)1, PD__UNLISTED(type))
#define PD__IS_LIKE(type, pointer)                                             \
  PD__SAME(__typeof__(1 ? PD__STRUCT_POINTER(type) : (void *)1), pointer)
#define PD__STRUCT_CODE(type)                                                  \
  (PD_CODE_STRUCT + (PD__IS_LIKE(type, void *) ? PD_CODE_POINTER : PD_CODE_CONST_POINTER))
#define PD__TAKES(type)                                                        \
  (PD__POINTS_TO_STRUCT(PD__STRUCT_POINTER(type)) &&                           \
   (PD__IS_LIKE(type, void *) || PD__IS_LIKE(type, const void *)))

/* 0, or an error that shows the name of the field: a bit-field can't have -1 bits. _Static_assert
 * is no part of an expression. */
#define PD__REFUSE_UNLESS(condition)                                           \
  (0 & (int)sizeof(struct { int an_operation_cannot_take_this_type : (condition) ? 1 : -1; }))
#define PD__CODE(type)                                                         \
  __extension__((PD__LISTED_CODE(type)    ? PD__LISTED_CODE(type)              \
                 : PD__POINTER_CODE(type) ? PD__POINTER_CODE(type)             \
                                          : PD__STRUCT_CODE(type)) |           \
                PD__REFUSE_UNLESS(PD__TAKES(type)))

/* `slot` is a variable of the operation's type. */
#define PD__OP_CHECK(slot, text, function, what)                               \
  __extension__ _Static_assert(PD__SAME(__typeof__(*function), __typeof__(*slot)), \
                               text ": " what " is of another type than the operation")
#endif /* __cplusplus */

/* Casts the function, which comes first; the attributes behind it pass as they are. */
#define PD__OP_FUNCTION(...) (void (*)(void))__VA_ARGS__

/* ---- The macros ---- */

/* `id` is op_<identifier>, pasted directly: the identifier alone may be a macro of the user. `word`
 * is "<identifier>", and `text` the name of the operation. What follows has C linkage also in C++,
 * and may use what compilers warn of: _Generic before C11, `{.help = …}` with fields left out, and
 * designated_init in PD__POINTS_TO_STRUCT. The `struct pd__…_##id` at the end of a macro declares
 * nothing that is used: without it, the user's semicolon would be an empty declaration. */
#define PD__OP_BEGIN PD__BEGIN_C _Pragma("GCC diagnostic push")                \
  _Pragma("GCC diagnostic ignored \"-Wpedantic\"")                             \
  _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")             \
  _Pragma("GCC diagnostic ignored \"-Wattributes\"")
#define PD__OP_END _Pragma("GCC diagnostic pop") PD__END_C
#define PD__OP_SIGNATURE(id, word)                                             \
  extern const pd_op_signature pd__signature_##id PD__SYMBOL("pd_op_signature_" word)

/* The slot is a variable of the module. It never holds NULL, and no two share a cache line. */
#define PD__OP_DECLARE(id, word, result, params)                               \
  PD__OP_BEGIN                                                                 \
  extern __typeof__(result(*) params) pd__##id PD__SYMBOL("pd_op_slot_" word) PD__OWN_LINE; \
  PD__OP_SIGNATURE(id, word);                                                  \
  PD__OP_END                                                                   \
  struct pd__declared_##id

#define PD__OP(kind_, id, word, text, result, params, own, ...)                \
  PD__OP_DECLARE(id, word, result, params);                                    \
  PD__OP_CHECK(pd__##id, text, own, #own);                                     \
  PD__OP_BEGIN                                                                 \
  __typeof__(result(*) params) pd__##id = own;                                 \
  PD__OP_RECORD(kind_, id, text, result, params, own, 0, pd__##id, __VA_ARGS__) \
  PD__OP_END                                                                   \
  struct pd__defined_##id

/* The help text and `.arrays` come last, as in pd_op_about. */
#define PD__OP_RECORD(kind_, id, text, result, params, own, scoped_, slot_, ...) \
  const pd_op_signature pd__signature_##id = {                                 \
      text, #result " " #params, {PD__CODES(result, params), 0}};              \
  __extension__ static const pd_op_def pd__def_##id = {                        \
      sizeof(pd_op_def), __LINE__, 0, kind_, scoped_, {0}, "native", __FILE__, \
      &pd__signature_##id, (void (**)(void))(void *)&slot_,                    \
      {PD__OP_FUNCTION(own), 0, NULL}, {.help = __VA_ARGS__}};                 \
  PD__LIST(id);

/* The slot of a scoped operation is another variable; pd__op_<identifier> only provides its
 * type. */
#define PD__OP_DECLARE_SCOPED(id, word, result, params)                        \
  PD__OP_BEGIN                                                                 \
  extern __typeof__(result(*) params) pd__##id                                 \
      PD__SYMBOL("pd_op_" word "_is_scoped__call_it_by_PD_SCOPED_CALL");        \
  extern pd_scoped_slot pd__scoped_##id PD__SYMBOL("pd_op_scoped_slot_" word) PD__OWN_LINE; \
  PD__OP_SIGNATURE(id, word);                                                  \
  PD__OP_END                                                                   \
  struct pd__declared_##id

#define PD__OP_SCOPED(kind_, id, word, text, result, params, own, ...)         \
  PD__OP_DECLARE_SCOPED(id, word, result, params);                             \
  PD__OP_CHECK(pd__##id, text, own, #own);                                     \
  PD__OP_BEGIN                                                                 \
  pd_scoped_slot pd__scoped_##id = {PD__OP_FUNCTION(own), NULL, NULL};         \
  PD__OP_RECORD(kind_, id, text, result, params, own, 1, pd__scoped_##id, __VA_ARGS__) \
  PD__OP_END                                                                   \
  struct pd__defined_##id

/* The function for the calling thread. It returns a pointer to a function. */
static inline void (*pd__op_found(const pd_scoped_slot *slot))(void) {
  void (*(*find)(const pd_scoped_slot *))(void) = __atomic_load_n(&slot->find, __ATOMIC_ACQUIRE);
  return find ? find(slot) : __atomic_load_n(&slot->function, __ATOMIC_ACQUIRE);
}

#define PD_OP_DEFINE(op, result, params, own, ...)                             \
  PD__OP(PD_KIND_OP, op_##op, #op, #op, result, params, own, __VA_ARGS__)
#define PD_OP_DEFINE_AS(op, text, result, params, own, ...)                    \
  PD__OP(PD_KIND_OP, op_##op, #op, text, result, params, own, __VA_ARGS__)
#define PD_OP_IMPORT(op, result, params, fallback)                             \
  PD__OP(PD_KIND_OP_IMPORT, op_##op, #op, #op, result, params, fallback, NULL)
#define PD_OP_IMPORT_AS(op, text, result, params, fallback)                    \
  PD__OP(PD_KIND_OP_IMPORT, op_##op, #op, text, result, params, fallback, NULL)
#define PD_OP_DECLARE(op, result, params) PD__OP_DECLARE(op_##op, #op, result, params)
#define PD_OP_DECLARE_AS(op, text, result, params) PD__OP_DECLARE(op_##op, #op, result, params)

#define PD_OP_DEFINE_SCOPED(op, result, params, own, ...)                      \
  PD__OP_SCOPED(PD_KIND_OP, op_##op, #op, #op, result, params, own, __VA_ARGS__)
#define PD_OP_DEFINE_SCOPED_AS(op, text, result, params, own, ...)             \
  PD__OP_SCOPED(PD_KIND_OP, op_##op, #op, text, result, params, own, __VA_ARGS__)
#define PD_OP_IMPORT_SCOPED(op, result, params, fallback)                      \
  PD__OP_SCOPED(PD_KIND_OP_IMPORT, op_##op, #op, #op, result, params, fallback, NULL)
#define PD_OP_IMPORT_SCOPED_AS(op, text, result, params, fallback)             \
  PD__OP_SCOPED(PD_KIND_OP_IMPORT, op_##op, #op, text, result, params, fallback, NULL)
#define PD_OP_DECLARE_SCOPED(op, result, params)                               \
  PD__OP_DECLARE_SCOPED(op_##op, #op, result, params)
#define PD_OP_DECLARE_SCOPED_AS(op, text, result, params)                      \
  PD__OP_DECLARE_SCOPED(op_##op, #op, result, params)

/* The function and the attributes come last, as in pd_op_choice. */
#define PD_OP_IMPL(op, candidate, ...)                                         \
  PD__OP_IMPL(op_##op, op_##op##_is_##candidate, #op, #candidate, __VA_ARGS__)
/* Called with a comma at the end: `...` must not be empty before C23. */
#define PD__FIRST(first, ...) first
#define PD__OP_IMPL(op, id, text, word, ...)                                   \
  PD__OP_CHECK(pd__##op, text, PD__FIRST(__VA_ARGS__, ), word);                \
  PD__OP_BEGIN                                                                 \
  __extension__ static const pd_op_def pd__def_##id = {                        \
      sizeof(pd_op_def), __LINE__, 0, PD_KIND_IMPL, 0, {0}, word, __FILE__,    \
      &pd__signature_##op, NULL, {.function = PD__OP_FUNCTION(__VA_ARGS__)}, {NULL, NULL}}; \
  PD__LIST(id);                                                                \
  PD__OP_END                                                                   \
  struct pd__implemented_##id

/* Acquire: what the chosen module has written before its function was published is visible. */
#define PD_OP_CALL(op) __atomic_load_n(&pd__op_##op, __ATOMIC_ACQUIRE)
#define PD_OP_SCOPED_CALL(op) ((__typeof__(pd__op_##op))pd__op_found(&pd__scoped_op_##op))

#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_OP PD_OP_DEFINE
#define PD_DEFINE_OP_AS PD_OP_DEFINE_AS
#define PD_DECLARE_OP PD_OP_DECLARE
#define PD_DECLARE_OP_AS PD_OP_DECLARE_AS
#define PD_IMPORT_OP PD_OP_IMPORT
#define PD_IMPORT_OP_AS PD_OP_IMPORT_AS
#define PD_IMPL PD_OP_IMPL
#define PD_CALL PD_OP_CALL
#define PD_DEFINE_SCOPED_OP PD_OP_DEFINE_SCOPED
#define PD_DEFINE_SCOPED_OP_AS PD_OP_DEFINE_SCOPED_AS
#define PD_DECLARE_SCOPED_OP PD_OP_DECLARE_SCOPED
#define PD_DECLARE_SCOPED_OP_AS PD_OP_DECLARE_SCOPED_AS
#define PD_IMPORT_SCOPED_OP PD_OP_IMPORT_SCOPED
#define PD_IMPORT_SCOPED_OP_AS PD_OP_IMPORT_SCOPED_AS
#define PD_SCOPED_CALL PD_OP_SCOPED_CALL
#endif

#endif /* PD_FLAGS_OP_H */
