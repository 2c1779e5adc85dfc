/* PD_DEFINE_SCOPED_<type>, PD_DECLARE_SCOPED_<type> and PD_IMPORT_SCOPED_<type>: flags that may
 * have their own value in one thread or task. With PD_NO_SHORT_NAMES only the long names exist,
 * PD_FLAG_DEFINE_SCOPED_<type> and so on.
 *
 *     PD_DEFINE_SCOPED_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
 *     int level(void) { return PD_SCOPED(alpha_level); }
 *
 * They have the parameters of PD_DEFINE_<type>, PD_DECLARE_<type> and PD_IMPORT_<type>.
 * PD_SCOPED(name) is the value in the calling thread: that of its innermost scope with a value for
 * the flag, or else that of the process. While no scope has a value for the flag, reading it takes
 * one load and one test more than for another flag. In C, FLAGS_alpha_level alone doesn't compile;
 * in C++ it converts as other flags do, and FLAGS_alpha_level.get() is the same as
 * PD_SCOPED(alpha_level). Any thread may use it, even in a signal handler.
 *
 * PD_SCOPED_FLAG(name) is the pd_flag *, for pd_scope_push; NULL until the flag has been
 * defined. */
#ifndef PD_FLAGS_SCOPED_H
#define PD_FLAGS_SCOPED_H

#include <pd_flags/record.h>

PD__BEGIN_C

/* The variable of a scoped flag, in writable memory of its module. The value is of the C type of
 * the flag and begins where the struct begins. The host sets the other fields. A reader loads
 * `find` first: if it is 0, the value is the one here, else the one that find(cell) points to. That
 * is valid until this thread opens or ends a scope. */
typedef struct pd_scoped_cell {
  uint64_t value;
  const void *(*find)(const struct pd_scoped_cell *cell); /* 0 while no scope has a value */
  struct pd_flag *flag; /* 0 until it is defined or imported in a process with a registry */
} pd_scoped_cell;

typedef const void *(*pd__finder)(const pd_scoped_cell *cell);

PD__END_C

/* Make `cell` a pointer in a register, and load its `find`. On aarch64, gcc computes an address for
 * each atomic load, which takes three instructions more. The empty assembly pretends to change the
 * register, so gcc can't compute addresses again; a volatile load is also one load. */
#if defined(__aarch64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define PD__SCOPED_BASE(cell) __asm__("" : "+r"(cell))
#define PD__SCOPED_FIND(cell) (*(pd__finder const volatile *)&(cell)->find)
#else
#define PD__SCOPED_BASE(cell) (void)(cell)
#define PD__SCOPED_FIND(cell) __atomic_load_n(&(cell)->find, __ATOMIC_RELAXED)
#endif

#define PD_SCOPED_FLAG(name) __atomic_load_n(&pd__cell_FLAGS_##name.flag, __ATOMIC_RELAXED)

/* As PD__FLAG. The symbols of the cells differ, so a declaration of the other kind doesn't link. */
#define PD__SCOPED_FLAG(type, member, kind, flag, text, value, ...)            \
  PD__SCOPED_DECLARE(pd__scoped_##type, #type, flag, text) PD__OWN_LINE;       \
  PD__SCOPED_CELL(pd__scoped_##type, #type, pd__##member, PD__LOW_##type, PD__HIGH_##type, \
                  pd__cell_##flag, text, value);                               \
  PD__SCOPED_VIEW(pd__scoped_##type, #type, flag, text);                       \
  PD__DEFINITION(PD_TYPE_##type, true, pd__##member, PD__LOW_##type, PD__HIGH_##type, \
                 kind, flag, text, value, __VA_ARGS__)                         \
  PD__LIST(flag)
#define PD__SCOPED_OTHER(type, flag, text)                                     \
  PD__SCOPED_DECLARE(pd__scoped_##type, #type, flag, text);                    \
  PD__SCOPED_VIEW(pd__scoped_##type, #type, flag, text)
#define PD__SCOPED_SYMBOL(type_name, text) PD__SYMBOL("pd_flag_scoped_cell_" type_name "_" text)

#ifdef __cplusplus

namespace pd {
namespace detail {

/* A pd_scoped_cell with a value of type T. */
template <class T>
struct scoped_cell {
  alignas(8) T value;
  pd__finder find;
  pd_flag *flag;
};
#define PD__SCOPED_ALIAS(name, number, ctype, member) using pd__scoped_##name = scoped_cell<ctype>;
PD_TYPE_MAP(PD__SCOPED_ALIAS)

}  // namespace detail

/* The type of FLAGS_x of a scoped flag, which is used as that of another flag. */
template <class T, detail::scoped_cell<T> *cell>
class scoped_view : detail::view {
 public:
  using value_type = T;
  /* The value in the calling thread. */
  PD__INLINE T get() const noexcept {
    constexpr int order = std::is_pointer<T>::value ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    const detail::scoped_cell<T> *from = cell;
    PD__SCOPED_BASE(from);
    const pd__finder find = PD__SCOPED_FIND(from);
    T value;
    if (__builtin_expect(find == nullptr, 1)) {
      __atomic_load(&from->value, &value, order);
    } else {
      const void *found = find(reinterpret_cast<const pd_scoped_cell *>(from));
      __atomic_load(static_cast<const T *>(found), &value, order);
    }
    return value;
  }
  PD__INLINE operator T() const noexcept { return get(); }
  /* The handle; NULL until the flag has been defined. */
  PD__INLINE pd_flag *handle() const noexcept {
    return __atomic_load_n(&cell->flag, __ATOMIC_RELAXED);
  }
  scoped_view(const scoped_view &) = delete; /* use FLAGS_x.get() */
  scoped_view &operator=(const scoped_view &) = delete;
  void operator&() const = delete;

 private:
  template <class U, class = detail::if_narrower<U, T>>
  scoped_view(U);
};

namespace detail {

template <scoped_cell<const char *> *cell>
struct is_text<scoped_view<const char *, cell>> : std::true_type {};

}  // namespace detail
}  // namespace pd

#define PD_SCOPED(name) FLAGS_##name.get()

#define PD__SCOPED_DECLARE(type, type_name, flag, text)                        \
  extern ::pd::detail::type pd__cell_##flag PD__SCOPED_SYMBOL(type_name, text)
#define PD__SCOPED_CELL(type, type_name, member, low, high, cell, text, value) \
  ::pd::detail::type cell{value, nullptr, nullptr}

/* As PD__VIEW and PD__DECLARE in define_cpp.h. */
#define PD__SCOPED_VIEW(type, type_name, flag, text)                                     \
  PD__VIEW_BEGIN PD__VIEW_PLACE("pd_flag_scoped_view_" type_name "_" text)               \
  extern const ::pd::scoped_view<decltype(pd__cell_##flag.value), &pd__cell_##flag> flag \
      PD__VIEW_SYMBOL("pd_flag_scoped_view_" type_name "_" text,                         \
                      "pd_flag_scoped_cell_" type_name "_" text) PD__VIEW_END

#else /* C */

/* The structs are named for the compiler's message about FLAGS_x where a value is expected. */
#define PD__SCOPED_STRUCT(name, number, ctype, member)                         \
  struct pd__scoped_##name##_read_it_by_PD_SCOPED {                            \
    __attribute__((aligned(8))) ctype value;                                   \
    pd__finder find;                                                           \
    struct pd_flag *flag;                                                      \
  };
PD_TYPE_MAP(PD__SCOPED_STRUCT)

/* A string's bytes are written before its pointer is published. */
#define PD__SCOPED_ORDER(value)                                                \
  (__builtin_types_compatible_p(__typeof__(value), const char *)               \
       ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED)

/* `({ …; value; })` is an expression with statements, whose value is the last one; a function would
 * need one name for each type. __extension__ allows it with -Wpedantic. The struct of a type begins
 * as pd_scoped_cell does, and the cast through const void * avoids a warning of -Wcast-align. */
#define PD_SCOPED(name)                                                                 \
  __extension__({                                                                       \
    __typeof__(&FLAGS_##name) pd__cell = &FLAGS_##name;                                 \
    __typeof__(pd__cell_FLAGS_##name.value) pd__value;                                  \
    PD__SCOPED_BASE(pd__cell);                                                          \
    const pd__finder pd__find = PD__SCOPED_FIND(pd__cell);                              \
    if (__builtin_expect(pd__find == NULL, 1)) {                                        \
      __atomic_load(&pd__cell->value, &pd__value, PD__SCOPED_ORDER(pd__value));         \
    } else {                                                                            \
      const void *pd__found = pd__find((const pd_scoped_cell *)(const void *)pd__cell); \
      __atomic_load((__typeof__(&pd__cell->value))pd__found, &pd__value,                \
                    PD__SCOPED_ORDER(pd__value));                                       \
    }                                                                                   \
    pd__value;                                                                          \
  })

#define PD__SCOPED_DECLARE(type, type_name, flag, text)                        \
  extern struct type##_read_it_by_PD_SCOPED pd__cell_##flag PD__SCOPED_SYMBOL(type_name, text)
#define PD__SCOPED_CELL(type, type_name, member, low, high, cell, text, value_) \
  PD__FITS_##member(type_name, low, high, text, value_)                         \
  struct type##_read_it_by_PD_SCOPED cell = {.value = value_}
#define PD__SCOPED_VIEW(type, type_name, flag, text)                           \
  extern const struct type##_read_it_by_PD_SCOPED flag PD__SCOPED_SYMBOL(type_name, text)

#endif /* C */

#endif /* PD_FLAGS_SCOPED_H */
