/* Flags whose variable is ordinary and writable. The headers in compat/ share this file; new
 * plugins use PD_DEFINE_<type>.
 *
 *     namespace mine {
 *     PD__ASSIGNABLE(int32, FLAGS_level, "level", , , 6, "Compression level")
 *     PD__ASSIGNABLE_TEXT(FLAGS_mode, "mode", , , "fast", "How", .category = "search")
 *     }
 *     mine::FLAGS_level = 7;    // an int32_t: the registry notices at its next call
 *     mine::FLAGS_mode += "er"; // a std::string &
 *
 * The arguments: type, variable, name of the flag, attributes of the variable's declaration
 * (visibility), its symbol (PD__ASSIGNABLE_SYMBOL; these two may be empty), default, help, and the
 * attributes of PD_DEFINE in their order. Write them at any namespace scope, in any number of files
 * of a module, without a semicolon. PD__ASSIGNABLE_DECLARE(type, variable, attributes, symbol) and
 * PD__ASSIGNABLE_TEXT_DECLARE(variable, attributes, symbol) declare them in another file.
 *
 * - The variable has its default before any initializer of the program runs, so all of them may
 *   read and write it. A std::string is constructed by the registry when the module joins, or by an
 *   initializer of priority 101, whichever comes first. Its memory is freed when the module leaves,
 *   after its last destructor (macOS: never).
 * - A default that isn't a constant (a function, an environment variable) is set by
 *   pd_flag_set_default, when the initializers of its file run. Values that the flag got earlier
 *   stay. This needs no library.
 * - One name in two files of a module is a linker error.
 * - Reading is a plain load, not synchronized with a thread that sets the flag, as in the libraries
 *   that these headers replace. */
#ifndef PD_FLAGS_ASSIGNABLE_HPP
#define PD_FLAGS_ASSIGNABLE_HPP

#include <pd_flags/names_push.h>

#include <pd_flags.h>
#include <pd_flags/host.h>
#include <pd_flags/values.hpp>

#include <cstdio>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#if defined(_WIN32)
#include <cstdlib>
#endif

namespace pd {
namespace detail {

template <class Type>
constexpr typename Type::member lowest() noexcept {
  return static_cast<typename Type::member>(range_of<typename Type::value>::low());
}

template <class Type>
constexpr typename Type::member highest() noexcept {
  return static_cast<typename Type::member>(range_of<typename Type::value>::high());
}

/* ---- Text: std::string ---- */

/* The memory of a std::string flag. All zeros except `first` is a valid state, so it needs no
 * initializer and no destructor. */
struct text_cell {
  alignas(std::string) char current[sizeof(std::string)];
  alignas(std::string) char given[sizeof(std::string)]; /* a default that isn't constant */
  const char *first;                                    /* the default until then */
  text_cell *next; /* next cell of the module that holds memory */
  uint32_t stage;
  const void *(*where)(); /* what FLAGS_x refers to; NULL: `current`, always */
};
enum { text_none = 0, text_making = 1, text_made = 2 };

}  // namespace detail
}  // namespace pd

extern "C" {
/* The linker keeps one for the module. */
#if defined(PD__MERGED)
inline PD__LOCAL ::pd::detail::text_cell *pd__texts_v1 = nullptr;
#elif defined(_WIN32)
__attribute__((selectany)) ::pd::detail::text_cell *pd__texts_v1 = nullptr;
#else
extern ::pd::detail::text_cell *pd__texts_v1 __attribute__((weak, visibility("hidden")));
__attribute__((weak, visibility("hidden"))) ::pd::detail::text_cell *pd__texts_v1 = nullptr;
#endif
}

namespace pd {
namespace detail {

PD__LOCAL inline std::string &text_of(text_cell &cell) {
  return *reinterpret_cast<std::string *>(cell.current);
}

PD__LOCAL inline void text_make_now(text_cell &cell) {
  std::string &text = *new (cell.current) std::string();
  new (cell.given) std::string();
  text = cell.first; /* its constructor is a template, which each file would compile */
  text_cell *head = __atomic_load_n(&pd__texts_v1, __ATOMIC_RELAXED);
  do {
    cell.next = head;
  } while (!__atomic_compare_exchange_n(&pd__texts_v1, &head, &cell, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
  __atomic_store_n(&cell.stage, static_cast<uint32_t>(text_made), __ATOMIC_RELEASE);
}

/* A registry that is loaded on another thread may do this while the module's initializers do. */
PD__LOCAL inline std::string &text_make(text_cell &cell) {
  uint32_t stage = text_none;
  if (__atomic_load_n(&cell.stage, __ATOMIC_ACQUIRE) == text_made) return text_of(cell);
  if (__atomic_compare_exchange_n(&cell.stage, &stage, static_cast<uint32_t>(text_making), false,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    text_make_now(cell);
  }
  while (__atomic_load_n(&cell.stage, __ATOMIC_ACQUIRE) != text_made) {
  }
  return text_of(cell);
}

/* Another library of the process may have initialized the reference, with its own string. It is
 * NULL before that library does. */
PD__LAZY std::string &text_used(text_cell &cell) {
  const void *other = cell.where ? cell.where() : nullptr;
  if (!other || other == cell.current) return text_make(cell);
  return *static_cast<std::string *>(const_cast<void *>(other));
}

PD__LAZY const char *text_get(void *cell) {
  return text_used(*static_cast<text_cell *>(cell)).c_str();
}

/* A string that already has the value is left alone, so its c_str() stays valid. If memory runs
 * out, the old value stays, and the registry treats it as an assignment. */
PD__LAZY void text_put(void *cell, const char *value) {
#ifdef __EXCEPTIONS
  try {
#endif
    std::string &text = text_used(*static_cast<text_cell *>(cell));
    if (text != value) text = value;
#ifdef __EXCEPTIONS
  } catch (const std::bad_alloc &) {
  }
#endif
}

/* Runs after the registry has released the module. Later readers find an empty string. */
PD__LOCAL inline void text_release_all() {
  text_cell *cell = __atomic_exchange_n(&pd__texts_v1, nullptr, __ATOMIC_ACQ_REL);
  for (; cell; cell = cell->next) {
    std::string().swap(text_of(*cell));
    std::string().swap(*reinterpret_cast<std::string *>(cell->given));
  }
}

/* ---- Defaults that aren't constants ---- */

PD__INLINE constexpr const char *as_text(const char *text) noexcept { return text; }
inline const char *as_text(const std::string &text) { return text.c_str(); }

/* The host's functions, or NULL: a default needs no library. */
PD__LAZY const pd_table *table_of_host() {
  return pd__table_with(offsetof(pd_table, flag_set_default));
}

PD__LAZY bool has_cell(const pd_table *table, const pd_flag *flag, const void *cell) {
  pd_cell_info info = detail::sized<pd_cell_info>();
  for (size_t i = 0; table->flag_get_cell(flag, i, &info, nullptr) == PD_OK; i++) {
    if (info.address == cell) return true;
  }
  return false;
}

/* The flag that the variable follows, or NULL if its definition hasn't joined or was refused.
 * `name` (NULL allowed) is where to look first: the registry may have put a namespace in front. */
PD__LAZY pd_flag *flag_of(const void *cell, const char *name) {
  const pd_table *table = table_of_host();
  pd_flag *flag = nullptr;
  if (!table) return nullptr;
  bool found = name && table->flag_find(name, &flag, nullptr) == PD_OK;
  if (found && has_cell(table, flag, cell)) return flag;
  flag = nullptr;
  while ((flag = table->flag_next(flag)) != nullptr && !has_cell(table, flag, cell)) {
  }
  return flag;
}

PD__LAZY bool set_default(pd_flag *flag, const char *text) {
  return table_of_host()->flag_set_default(flag, text, nullptr) == PD_OK;
}

template <class T, class Member>
PD__LOCAL bool give_default(definition<Member> &def, T value) {
  pd_flag *flag = flag_of(def.cell, def.name);
  pd_value given;
  value_type<T>::put(given, value);
  if (flag) return set_default(flag, value_text(value_type<T>::type, given).c_str());
  def.default_value = static_cast<Member>(value);
  *static_cast<T *>(def.cell) = value;
  return true;
}

PD__LAZY bool give_text_default(definition<const char *> &def, const std::string &value) {
  text_cell &cell = *static_cast<text_cell *>(def.cell);
  pd_flag *flag = flag_of(def.cell, def.name);
  if (flag) return set_default(flag, value.c_str());
  text_make(cell);
  std::string &text = text_used(cell);
  std::string &given = *reinterpret_cast<std::string *>(cell.given);
  text = given = value;
  def.default_value = given.c_str();
  return true;
}

/* With a constant default, nothing runs at startup. */
template <class T, class Member>
constexpr bool late_default(std::true_type, definition<Member> &, T) noexcept {
  return true;
}
template <class T, class Member>
PD__LOCAL bool late_default(std::false_type, definition<Member> &def, T value) {
  return give_default(def, value);
}
constexpr bool late_text(std::true_type, definition<const char *> &, const char *) noexcept {
  return true;
}
PD__LAZY bool late_text(std::false_type, definition<const char *> &def,
                                const std::string &value) {
  return give_text_default(def, value);
}
PD__LAZY bool late_text(std::false_type, definition<const char *> &def,
                                const char *value) {
  return give_text_default(def, value ? value : ""); /* getenv */
}

/* ---- Definitions at run time ---- */

template <>
struct value_type<std::string> : value_type<const char *> {
  PD__LOCAL static inline std::string get(const pd_value &from) { return from.str; }
};

template <class T>
PD__LOCAL void default_to(pd_flag_def &def, const T &value) {
  detail::put(def.default_value, value);
}
PD__LAZY void default_to(pd_flag_def &def, const std::string &value) {
  def.default_value.str = value.c_str();
  def.access = &detail::string_access<>::value;
}

template <class T>
PD__LOCAL bool is_equal(const T &first, const T &second) {
  return first <= second && second <= first; /* NaN is equal to nothing */
}

/* A flag with a variable that the program has made, and to which it may have assigned already.
 * *flag is NULL if the definition is refused. */
template <class T>
PD__LOCAL pd_status define_variable(const char *name, const char *help, const char *file,
                                    T *current, const T &fallback, pd_flag **flag,
                                    pd_error *err) {
  pd_flag_def def;
  T now = *current;
  pd_flag_def_init(&def, sizeof def, value_type<T>::type);
  def.name = name;
  def.help = help;
  def.file = file;
  def.cell = current;
  def.assignable = true;
  detail::default_to(def, fallback);
  pd_status status = pd_flag_register(&def, flag, err);
  bool assigned = !is_equal(now, fallback) && is_equal(*current, fallback);
  if (status == PD_OK && assigned) *current = now;
  return status;
}

/* ---- Errors ---- */

PD__LAZY void take_messages(pd_error_list *errors, std::vector<std::string> &out) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    out.push_back(pd_error_list_at(errors, i)->message);
  }
  pd_error_list_free(errors);
}

/* Why definitions of this module were refused: a name is already taken, say, or a default is
 * outside its range. Such a module has none of its flags. */
PD__LAZY void refused_definitions(std::vector<std::string> &out) {
  for (pd_module *module = nullptr; (module = pd_module_next(module)) != nullptr;) {
    pd_module_info info = detail::sized<pd_module_info>();
    if (pd_module_get_info(module, &info, nullptr) != PD_OK) continue;
    if (!info.present || info.status == PD_OK) continue;
    pd_error_list *errors = pd_error_list_new();
    pd_module_get_errors(module, errors, nullptr);
    take_messages(errors, out);
  }
}

/* ---- Access ---- */

/* As detail::string_access. */
template <class = void>
struct PD__LOCAL text_access {
  static const pd_cell_access value;
};
template <class Lazy>
const pd_cell_access text_access<Lazy>::value = {sizeof(pd_cell_access), text_get, text_put,
                                                 nullptr, nullptr};

}  // namespace detail
}  // namespace pd

/* ---- After the module has left ---- */

#if defined(_WIN32)
/* Functions registered first run last: so register before pd__module_enter does. */
static void pd__texts_enter(void) {
  if (std::atexit(::pd::detail::text_release_all) != 0) return; /* their memory is never freed */
}
PD__START("C", pd__texts_enter);
#elif defined(__ELF__)
/* The array runs from its end: after pd__module_exit_v1, which is at 00099. As in join_elf.h, the
 * assembly is inside for C++20 modules. */
#define PD__TEXTS_RUN PD__RUN("fini_array", "00098", "pd__texts_exit_v1");
extern "C" {
extern void pd__texts_exit_v1(void) __attribute__((weak, visibility("hidden")));
#ifdef PD__MERGED
PD__ONE void pd__texts_exit_v1(void) {
  PD__TEXTS_RUN
  ::pd::detail::text_release_all();
}
static void (*const pd__texts_emitted)(void) __attribute__((used)) = pd__texts_exit_v1;
#else
PD__ONE void pd__texts_exit_v1(void) { ::pd::detail::text_release_all(); }
PD__TEXTS_RUN
#endif
}
#endif

/* ---- The macros ---- */

/* `tag` is the name of the type in PD_TYPE_MAP, pasted directly; `flag` is FLAGS_<name>, and `text`
 * "<name>". `storage` is before the variable and `symbol` after it: attributes and an __asm__
 * label, or nothing. */
#define PD__ASSIGNABLE_DECLARE(tag, flag, storage, symbol) \
  extern storage ::pd::detail::type_##tag::variable flag symbol
#define PD__ASSIGNABLE_TEXT_DECLARE(...) PD__ASSIGNABLE_DECLARE(string, __VA_ARGS__)

/* The definition isn't constant: its default may be set later. */
#define PD__ASSIGNABLE_DEFINITION(member, type, low, high, flag, text, cell, value, access_, ...) \
  _Pragma("GCC diagnostic push")                                                                  \
  _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                              \
  extern ::pd::detail::definition<member> pd__def_##flag PD__SYMBOL("pd_flag_definition_" text); \
  __extension__ ::pd::detail::definition<member> pd__def_##flag = ::pd::detail::define<member>(   \
      type, PD_KIND_DEFINE, __LINE__, __FILE__, text, cell, value, low, high,                     \
      ::pd::detail::attributes<member>{.help = __VA_ARGS__, .assignable = true, .access = access_});                           \
  _Pragma("GCC diagnostic pop")                                                                   \
  PD__LIST(flag);

/* As in the headers that this one serves, the value may be any expression. If the compiler can't
 * compute it, the variable is initially 0, and an initializer that runs at startup, that of
 * pd__late_, sets the default. Both branches of ?: are compiled, so each value is there in both
 * forms. */
#define PD__ASSIGNABLE(tag, flag, text, storage, symbol, value_, ...)                          \
  PD__ASSIGNABLE_DECLARE(tag, flag, storage, symbol);                                          \
  static constexpr bool pd__constant_##flag = __builtin_constant_p(value_);                    \
  static const ::pd::detail::type_##tag::value pd__first_##flag =                              \
      pd__constant_##flag ? ::pd::detail::type_##tag::converted(value_)                        \
                          : ::pd::detail::type_##tag::value();                                 \
  storage ::pd::detail::type_##tag::value flag = pd__first_##flag;                             \
  PD__ASSIGNABLE_DEFINITION(                                                                   \
      ::pd::detail::type_##tag::member, ::pd::detail::type_##tag::type,                        \
      ::pd::detail::lowest< ::pd::detail::type_##tag>(),                                       \
      ::pd::detail::highest< ::pd::detail::type_##tag>(), flag, text, &flag, pd__first_##flag, \
      nullptr, __VA_ARGS__)                                                                    \
  _Pragma("GCC diagnostic push")                                                               \
  _Pragma("GCC diagnostic ignored \"-Wconversion\"") /* warned above */                        \
  static const bool pd__late_##flag __attribute__((unused)) = ::pd::detail::late_default(      \
      std::integral_constant<bool, pd__constant_##flag>(), pd__def_##flag,                     \
      pd__constant_##flag ? ::pd::detail::type_##tag::value()                                  \
                          : ::pd::detail::type_##tag::converted(value_));                      \
  _Pragma("GCC diagnostic pop")

/* FLAGS_x of a string is a reference to memory, in which a constructor makes the std::string before
 * any static object is made, and which is freed after their destructors. `where` is a function that
 * returns what the reference refers to, or NULL. */
#define PD__ASSIGNABLE_TEXT(...) PD__ASSIGNABLE_TEXT_AT(nullptr, __VA_ARGS__)
#define PD__ASSIGNABLE_TEXT_AT(where, flag, text, storage, symbol, value_, ...)                \
  PD__ASSIGNABLE_TEXT_DECLARE(flag, storage, symbol);                                          \
  static constexpr bool pd__constant_##flag =                                                  \
      __builtin_constant_p(::pd::detail::as_text(value_));                                     \
  static ::pd::detail::text_cell pd__text_##flag = {                                           \
      {0}, {0}, pd__constant_##flag ? ::pd::detail::as_text(value_) : "", nullptr, 0, where};  \
  storage ::std::string &flag = reinterpret_cast< ::std::string &>(pd__text_##flag.current);      \
  PD__ASSIGNABLE_DEFINITION(const char *, PD_TYPE_string, nullptr, nullptr, flag, text,        \
                            &pd__text_##flag,                                                  \
                            pd__constant_##flag ? ::pd::detail::as_text(value_) : "",          \
                            &::pd::detail::text_access<>::value, __VA_ARGS__)                           \
  __attribute__((constructor(101))) static void pd__make_##flag(void) {                        \
    ::pd::detail::text_make(pd__text_##flag);                                                  \
  }                                                                                            \
  static const bool pd__late_##flag __attribute__((unused)) = ::pd::detail::late_text(         \
      std::integral_constant<bool, pd__constant_##flag>(), pd__def_##flag, value_);

/* A separate symbol for the variable of the flag `text`. The variable in the library that a header
 * replaces has the name that C++ gives it, and often another type: a string is an object there, and
 * a reference here. If both had one symbol, the loader would merge them. The end of the symbol is
 * for the linker's message about a flag that only the original defines. */
#define PD__ASSIGNABLE_SYMBOL(tag, text, original) \
  PD__SHARED_SYMBOL(PD__SORT_##tag "FLAGS_" text PD__INCLUDE_OWN_HEADER(original))
#define PD__INCLUDE_OWN_HEADER(original) \
  "_of_paddle_flags__for_a_flag_of_" original "_include_its_own_header"
/* A string that is declared as a number doesn't link. */
#define PD__SORT_bool ""
#define PD__SORT_int32 ""
#define PD__SORT_uint32 ""
#define PD__SORT_int64 ""
#define PD__SORT_uint64 ""
#define PD__SORT_double ""
#define PD__SORT_string "string_"

/* For macros that take the type as a parameter. */
#define PD__ASSIGNABLE_bool(...) PD__ASSIGNABLE(bool, __VA_ARGS__)
#define PD__ASSIGNABLE_int32(...) PD__ASSIGNABLE(int32, __VA_ARGS__)
#define PD__ASSIGNABLE_uint32(...) PD__ASSIGNABLE(uint32, __VA_ARGS__)
#define PD__ASSIGNABLE_int64(...) PD__ASSIGNABLE(int64, __VA_ARGS__)
#define PD__ASSIGNABLE_uint64(...) PD__ASSIGNABLE(uint64, __VA_ARGS__)
#define PD__ASSIGNABLE_double(...) PD__ASSIGNABLE(double, __VA_ARGS__)
#define PD__ASSIGNABLE_string(...) PD__ASSIGNABLE_TEXT(__VA_ARGS__)

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_ASSIGNABLE_HPP */
