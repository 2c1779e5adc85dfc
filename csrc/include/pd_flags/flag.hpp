/* pd::flag<T> and pd::import<T>; pd_flags.hpp says how to use them. */
#ifndef PD_FLAGS_FLAG_HPP
#define PD_FLAGS_FLAG_HPP

#include <pd_flags/attributes.hpp>
#include <pd_flags/cell.hpp>

namespace pd {

/* A watcher that on_change added. You don't have to keep it: hooks are removed with their module.
 * It can't be deferred: for that, use pd_watcher_add with handle(), and pd_hook_defer. */
class hook {
 public:
  PD__LOCAL hook() : number_(0) {}
  PD__LOCAL explicit hook(pd_hook number) : number_(number) {}
  /* No new call begins after this. */
  PD__LAZY status remove() {
    return inner::call([&](pd_error *err_) { return PD__HOST(hook_remove)(number_, err_); });
  }

 private:
  pd_hook number_;
};

namespace inner {

/* The name of a flag, and where it is defined. Lives as long as the module. */
struct where {
  const char *name;
  const char *file;
  uint32_t line;
  PD__INLINE where(const char *text, const char *path = __builtin_FILE(),
                   int number = __builtin_LINE())
      : name(text), file(path), line(static_cast<uint32_t>(number)) {}
};

/* ---- Setting by handle ---- */

#define PD__SET(name, number, ctype, member)                                             \
  PD__LOCAL inline pd_status set_cell(pd_flag *flag, ctype value, pd_error *err) {       \
    return PD__HOST(flag_set_##name)(flag, value, err);                                  \
  }
PD_TYPE_MAP(PD__SET)
#undef PD__SET

template <class T, bool is_object>
struct setter {
  PD__LOCAL static pd_status set(pd_flag *flag, const T &value, pd_error *err) {
    return inner::set_cell(flag, type_of<T>::to(value), err);
  }
};
template <class T>
struct setter<T, true> {
  PD__LOCAL static pd_status set(pd_flag *flag, const T &value, pd_error *err) {
    return inner::set_cell(flag, type_of<T>::format(value).c_str(), err);
  }
};

template <class D = void>
PD__LOCAL string_for<D> text_of(const pd_flag *flag) {
  char text[256];
  size_t length = 0;
  if (PD__HOST(flag_get_text)(flag, text, sizeof text, &length, nullptr) != PD_OK) return "";
  if (length < sizeof text) return text;
  string_for<D> whole(length + 1, '\0');
  if (PD__HOST(flag_get_text)(flag, &whole[0], whole.size(), &length, nullptr) != PD_OK) return "";
  whole.resize(__builtin_strlen(whole.c_str())); /* the value may have changed */
  return whole;
}

/* ---- Exceptions of watchers ---- */

/* The change is made and there is no caller to throw to, so an exception becomes a warning. */
template <class Function>
PD__LOCAL inline void without_throwing(const char *name, const Function &function) {
  pd_error text;
  char what[sizeof text.message];
  auto called = [&] {
    function();
    return true;
  };
  if (detail::ask_catching(what, sizeof what, called, "something that is no std::exception")) {
    return;
  }
  pd__refuse(&text, PD_OK, name, ": a watcher threw ", what);
  PD__HOST(warning_report)(text.message, nullptr);
}

/* ---- What flags and imports have in common ---- */

struct variable_base {};

/* No member needs a destructor. */
template <class T>
class alignas(64) variable : variable_base {
  static_assert(type_of<T>::known,
                "not a type of flags: numbers, bool, std::string, const char *, enums with "
                "pd_names, durations, std::vector, std::optional; or give your own type "
                "bool pd_parse(const char *, T &, std::string &) and std::string "
                "pd_format(const T &) in its own namespace");

 public:
  using value_type = typename cell_of<T, type_of<T>::object>::value_type;

  variable(const variable &) = delete; /* use get() */
  variable &operator=(const variable &) = delete; /* use set() */
  template <class U>
  void operator=(const U &) const {
    static_assert(never<U>::value, "a flag is set by flag.set(value), which checks the value");
  }

  /* The current value: for numbers one atomic load. A reference stays valid as long as the
   * module. Any thread. */
  PD__INLINE value_type get() const { return cell_.get(); }
  PD__INLINE value_type operator*() const { return get(); }
  PD__INLINE operator value_type() const { return get(); }
  PD__INLINE const T *operator->() const {
    static_assert(type_of<T>::object, "-> is for flags of objects, such as std::string");
    return address(get());
  }

  /* The name as in the source. In a namespace, the registry's name is longer. */
  PD__LOCAL const char *name() const { return def_.name; }

  /* Why the registry refused the flag; ok() also while there is no registry. */
  PD__LOCAL pd::status status() const {
    return inner::call([&](pd_error *err_) { return pd_late_check(&late_, err_); });
  }

  /* Set the flag at run time, for all modules. Validators are asked and watchers notified. */
  PD__LOCAL pd::status set(const T &value) {
    return with([&](pd_flag *flag_, pd_error *err_) {
      return setter<T, type_of<T>::object>::set(flag_, value, err_);
    });
  }
  /* The same, from text as on a command line. */
  PD__LOCAL pd::status set_text(given_text text) {
    return with([&](pd_flag *flag_, pd_error *err_) {
      return PD__HOST(flag_set_from_string)(flag_, text.c_str(), err_);
    });
  }
  /* Drop every value but the default. */
  PD__LOCAL pd::status reset() { return with(PD__HOST(flag_reset)); }

  /* The value as text; "" while the flag isn't defined. */
  PD__LOCAL string_for<T> text() const { return inner::text_of<T>(handle()); }

  /* For functions of pd_flags.h; null while the flag isn't defined. */
  PD__LOCAL pd_flag *handle() const {
    pd_flag *flag = __atomic_load_n(&late_.flag, __ATOMIC_ACQUIRE);
    if (flag || def_.kind == PD_KIND_DEFINE) return flag;
    return PD__HOST(flag_find)(def_.name, &flag, nullptr) == PD_OK ? flag : nullptr;
  }

  /* Call `function` after each change from now on: void(const T &) or void(). */
  template <class Function>
  PD__LOCAL result<hook> on_change(Function function) {
    auto *added = new told_by<Function>(*this, std::move(function));
    pd_hook number = 0;
    pd::status made = with([&](pd_flag *flag_, pd_error *err_) {
      return PD__HOST(watcher_add)(flag_, told_by<Function>::call, added,
                               told_by<Function>::release, &number, err_);
    });
    if (made.ok()) return hook(number);
    delete added;
    return made;
  }

 protected:
  PD__LOCAL variable(const where &at, const T &value, pd_kind kind) : cell_(), late_(), def_() {
    def_.size = sizeof def_;
    def_.type = static_cast<uint8_t>(type_of<T>::type);
    def_.kind = static_cast<uint8_t>(kind);
    def_.list = static_cast<uint8_t>(type_of<T>::items);
    def_.name = at.name;
    def_.file = at.file;
    def_.line = at.line;
    def_.unit = type_of<T>::unit();
    cell_.start(value, def_);
    late_.size = sizeof late_;
    late_.def = &def_;
  }

  PD__LOCAL void join() { pd__late_add(&late_); }

  cell_of<T, type_of<T>::object> cell_;
  pd_late_def late_;
  pd_flag_def def_;

 private:
  PD__INLINE static const T *address(const T &object) { return &object; }

  template <class Function>
  struct told_by {
    const variable &of;
    watch_by<T, Function> watch;
    told_by(const variable &flag, Function f) : of(flag), watch(std::move(f)) {}
    PD__LOCAL static void call(pd_flag *, void *context) {
      told_by *own = static_cast<told_by *>(context);
      inner::without_throwing(own->of.name(), [&] { own->watch.call(&own->watch, own->of.get()); });
    }
    PD__LOCAL static void release(void *context) { delete static_cast<told_by *>(context); }
  };

  /* Run `operation` on the flag, or return why there is none. */
  template <class Function>
  PD__LOCAL pd::status with(Function operation) const {
    pd_flag *flag = handle();
    if (!flag) return why_none();
    return inner::call([&](pd_error *err_) { return operation(flag, err_); });
  }
  PD__LOCAL pd::status why_none() const {
    pd_flag *flag = nullptr;
    pd::status why = status();
    if (!why.ok()) return why;
    why = inner::call([&](pd_error *err_) { return PD__HOST(flag_find)(def_.name, &flag, err_); });
    if (!why.ok()) return why;
    return inner::call([&](pd_error *err_) {
      return pd__refuse(err_, PD_ERR_UNDEFINED, def_.name, ": has not joined yet", "");
    });
  }
};

/* ---- Comparing ---- */

template <class U>
using if_value = when<!std::is_base_of<variable_base, U>::value>;

template <class T, class U>
PD__INLINE bool same(const T &a, const U &b) {
  return a == b;
}
PD__INLINE bool same(const char *a, const char *b) { return __builtin_strcmp(a, b) == 0; }

#define PD__FLAG_OPERATOR(sign, truth)                                                   \
  template <class T, class U, class = if_value<U>>                                       \
  PD__INLINE bool operator sign(const variable<T> &flag, const U &value) {               \
    return truth inner::same(flag.get(), value);                                         \
  }                                                                                      \
  template <class T, class U>                                                            \
  PD__INLINE bool operator sign(const variable<T> &first, const variable<U> &other) {      \
    return truth inner::same(first.get(), other.get());                                    \
  }                                                                                      \
  PD__FLAG_SECOND(sign, truth)
#if __cplusplus < 202002L
#define PD__FLAG_SECOND(sign, truth)                                                     \
  template <class T, class U, class = if_value<U>>                                       \
  PD__INLINE bool operator sign(const U &value, const variable<T> &flag) {               \
    return truth inner::same(flag.get(), value);                                         \
  }
#else
#define PD__FLAG_SECOND(sign, truth)
#endif
PD__FLAG_OPERATOR(==, )
PD__FLAG_OPERATOR(!=, !)
#undef PD__FLAG_OPERATOR
#undef PD__FLAG_SECOND

/* ---- Streams ---- */

template <class Stream, class T>
PD__LOCAL inline void print_as_text(Stream &out, const T &value, std::false_type) {
  out << type_of<T>::format(value).c_str();
}
template <class Stream, class T>
PD__LOCAL inline void print_as_text(Stream &out, const T &value, std::true_type) {
  out << inner::write_double(type_of<T>::to(value)).text << "s";
}

/* Types without their own << are written as on a command line. So are durations and enums, whose
 * own << exists only in some standards or writes numbers. */
template <class Stream, class T, class = void>
struct printer {
  PD__LOCAL static void print(Stream &out, const T &value) {
    inner::print_as_text(out, value, is_duration<T>());
  }
};
template <class Stream, class T>
struct printer<Stream, T,
               void_t<when<!std::is_enum<T>::value && !is_duration<T>::value>,
                      decltype(std::declval<Stream &>() << std::declval<const T &>())>> {
  using small = std::integral_constant<bool, std::is_integral<T>::value && sizeof(T) == 1 &&
                                                 !std::is_same<T, bool>::value>;
  PD__LOCAL static void print(Stream &out, const T &value) { print(out, value, small()); }
  PD__LOCAL static void print(Stream &out, const T &value, std::false_type) { out << value; }
  /* Streams take an int8_t for a character; it is a number here. */
  PD__LOCAL static void print(Stream &out, const T &value, std::true_type) {
    out << static_cast<int>(value);
  }
};

template <class Char, class Traits, class T>
PD__LOCAL inline std::basic_ostream<Char, Traits> &operator<<(std::basic_ostream<Char, Traits> &out,
                                                         const variable<T> &flag) {
  printer<std::basic_ostream<Char, Traits>, T>::print(out, flag.get());
  return out;
}

/* ---- Validators ---- */

template <class T>
PD__LOCAL inline bool passes(const check<T> *checks, const T &value, char *why, size_t size) {
  for (; checks; checks = checks->next) {
    if (!checks->call(checks, value, why, size)) return false;
  }
  return true;
}

template <class T, bool is_object>
struct judge {
  PD__LOCAL static bool allow(const pd_value &given, const check<T> *checks, char *why,
                              size_t size) {
    typename type_of<T>::cell cell = detail::value_type<typename type_of<T>::cell>::get(given);
    return type_of<T>::fits(cell, why, size) &&
           inner::passes(checks, type_of<T>::from(cell), why, size);
  }
};
template <class T>
struct judge<T, true> {
  PD__LOCAL static bool allow(const pd_value &given, const check<T> *checks, char *why,
                              size_t size) {
    T value{};
    string_for<T> unread;
    if (type_of<T>::parse(given.str, value, unread)) {
      return inner::passes<T>(checks, value, why, size);
    }
    detail::write_why(why, size, unread.c_str());
    return false;
  }
};

template <class T>
PD__LOCAL inline bool allow(const pd_value &given, const check<T> *checks, char *why, size_t size) {
  return detail::ask_catching(why, size, [&] {
    return judge<T, type_of<T>::object>::allow(given, checks, why, size);
  });
}

}  // namespace inner

/* ---- Flags ---- */

/* A flag of this module. Must be a static object. */
template <class T>
class flag : public inner::variable<T> {
  using base = inner::variable<T>;

 public:
  using base::operator=;
  template <class... Attributes>
  PD__LOCAL flag(inner::where at, T value, const char *help, const Attributes &...attributes)
      : base(at, value, PD_KIND_DEFINE), checks_(), watches_() {
    pd_flag_def &def = this->def_;
    inner::making<T> making = {&def, &checks_, &watches_};
    set_range(std::integral_constant<bool, inner::type_of<T>::ranged>());
    inner::apply_all(making, attributes...);
    def.help = help;
    def.context = this;
    set_choices(std::integral_constant<bool, inner::type_of<T>::object>());
    using added = inner::any_of<Attributes...>;
    set_validator(
        std::integral_constant<bool, added::checks || inner::type_of<T>::partial>());
    set_watcher(std::integral_constant<bool, added::watches || inner::type_of<T>::object>());
    this->join();
    static_assert(std::is_trivially_destructible<flag>::value, "read until its module is gone");
  }

 private:
  /* Makes `yes ? 2 : rate` an error, since it would convert a double to int; as in flag_view. */
  template <class U, class = detail::if_narrower<U, T>>
  flag(U);

  PD__LOCAL void set_range(std::true_type) {
    detail::put(this->def_.min, inner::type_of<T>::low());
    detail::put(this->def_.max, inner::type_of<T>::high());
    open_range(std::integral_constant<bool, inner::type_of<T>::partial>());
  }
  /* Bounds that the validator knows don't have to be in each message; they refuse a default outside
   * them. */
  PD__LOCAL void open_range(std::true_type) {
    pd_flag_def &def = this->def_;
    double first = def.default_value.f64;
    if (!(first >= def.min.f64 && first <= def.max.f64)) return;
    def.min.f64 = -__builtin_huge_val();
    def.max.f64 = __builtin_huge_val();
  }
  PD__LOCAL void open_range(std::false_type) {}
  PD__LOCAL void set_range(std::false_type) {}

  /* The functions, and what they use, are compiled only for flags that have them. */
  PD__LOCAL void set_validator(std::true_type) { this->def_.validate = validate; }
  PD__LOCAL void set_validator(std::false_type) {}
  PD__LOCAL void set_watcher(std::true_type) { this->def_.watch = changed; }
  PD__LOCAL void set_watcher(std::false_type) {}

  PD__LOCAL void set_choices(std::true_type) {
    inner::string_for<T> names = inner::type_of<T>::choices();
    if (!this->def_.choices && !names.empty()) this->def_.choices = inner::keep(names);
  }
  PD__LOCAL void set_choices(std::false_type) {}

  PD__LOCAL static bool validate(const pd_flag_entry *const *entries, void *context, char *why,
                               size_t size) {
    const flag *own = static_cast<const flag *>(context);
    return inner::allow<T>(entries[0]->value, own->checks_, why, size);
  }

  /* Notify every watcher, even if one throws. The object is made here, not by a reader. */
  PD__LOCAL static void changed(pd_flag *, void *context) {
    const flag *own = static_cast<const flag *>(context);
    inner::without_throwing(own->name(), [&] { static_cast<void>(own->get()); });
    for (inner::watch<T> *at = own->watches_; at; at = at->next) {
      inner::without_throwing(own->name(), [&] { at->call(at, own->get()); });
    }
  }

  inner::check<T> *checks_;
  inner::watch<T> *watches_;
};

/* A flag of another module, by name and with the same type. It has `value` while the name isn't
 * defined, and follows the flag once it is. Must be a static object. */
template <class T>
class import : public inner::variable<T> {
 public:
  using inner::variable<T>::operator=;
  PD__LOCAL import(inner::where at, T value) : inner::variable<T>(at, value, PD_KIND_IMPORT) {
    this->join();
  }

 private:
  template <class U, class = detail::if_narrower<U, T>>
  import(U); /* as in flag */
};

#if __cplusplus >= 201703L
template <class T, class... Attributes>
flag(inner::where, T, const char *, const Attributes &...) -> flag<T>;
template <class T>
import(inner::where, T) -> import<T>;
#endif

}  // namespace pd

#endif /* PD_FLAGS_FLAG_HPP */
