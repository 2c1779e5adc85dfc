/* The registry's functions for programs, and access to flags by name. */
#ifndef PD_FLAGS_HOSTING_HPP
#define PD_FLAGS_HOSTING_HPP

#include <pd_flags/flag.hpp>

namespace pd {
namespace inner {

#define PD__GET(name, number, ctype, member)                                             \
  PD__LOCAL inline pd_status get_cell(const pd_flag *flag, ctype &out, pd_error *err) {  \
    return PD__HOST(flag_get_##name)(flag, &out, err);                                   \
  }
PD_TYPE_MAP(PD__GET)
#undef PD__GET

template <class T, bool is_object>
struct getter {
  PD__LOCAL static pd_status get(const pd_flag *flag, T &out, pd_error *err) {
    typename type_of<T>::cell value{};
    pd_status code = inner::get_cell(flag, value, err);
    if (code == PD_OK) out = type_of<T>::from(value);
    return code;
  }
};
template <class T>
struct getter<T, true> {
  PD__LOCAL static pd_status get(const pd_flag *flag, T &out, pd_error *err) {
    const char *text = nullptr;
    string_for<T> why;
    pd_status code = inner::get_cell(flag, text, err);
    if (code != PD_OK || type_of<T>::parse(text, out, why)) return code;
    return pd__refuse(err, PD_ERR_VALUE, text, ": ", why.c_str());
  }
};

/* The errors of one call. */
class error_list {
 public:
  PD__LOCAL error_list() : list_(PD__HOST(error_list_new)()) {}
  PD__LOCAL ~error_list() { PD__HOST(error_list_free)(list_); }
  error_list(const error_list &) = delete;
  error_list &operator=(const error_list &) = delete;
  PD__LOCAL pd_error_list *get() const { return list_; }

 private:
  pd_error_list *list_;
};

/* Takes a std::vector<status> *, or nullptr, as argument. The type itself isn't named, so <vector>
 * isn't needed. */
class errors_to {
 public:
  PD__LOCAL errors_to(std::nullptr_t) : list_(nullptr), add_(nullptr) {}
  template <class List>
  PD__LOCAL errors_to(List *list) : list_(list), add_(list ? add<List> : nullptr) {}
  PD__LOCAL void add_all(const error_list &errors) const {
    for (size_t i = 0; add_ && i < PD__HOST(error_list_count)(errors.get()); i++) {
      add_(list_, *PD__HOST(error_list_at)(errors.get(), i));
    }
  }

 private:
  template <class List>
  PD__LOCAL static void add(void *list, const pd_error &err) {
    static_cast<List *>(list)->push_back(status(err.status, err));
  }
  void *list_;
  void (*add_)(void *list, const pd_error &err);
};

}  // namespace inner

/* Any flag of the process, by name: pd::find<int>("host_threads"). It stays valid; its functions
 * report when the flag is no longer defined. */
template <class T>
class ref {
  static_assert(inner::type_of<T>::known, "not a type of flags");

 public:
  PD__LOCAL explicit ref(pd_flag *flag = nullptr) : flag_(flag) {}
  PD__LOCAL result<T> get() const {
    T value{};
    status read = inner::call([&](pd_error *err_) {
      return inner::getter<T, inner::type_of<T>::object>::get(flag_, value, err_);
    });
    if (!read.ok()) return read;
    return value;
  }
  PD__LOCAL status set(const T &value) const {
    return inner::call([&](pd_error *err_) {
      return inner::setter<T, inner::type_of<T>::object>::set(flag_, value, err_);
    });
  }
  PD__LOCAL status reset() const {
    return inner::call([&](pd_error *err_) { return PD__HOST(flag_reset)(flag_, err_); });
  }
  PD__LOCAL inner::string_for<T> text() const { return inner::text_of<T>(flag_); }
  PD__LOCAL pd_flag *handle() const { return flag_; }

 private:
  pd_flag *flag_;
};

/* The value as text; an error while the flag is not defined. */
template <class Char, class Traits, class T>
PD__LOCAL inline std::basic_ostream<Char, Traits> &operator<<(std::basic_ostream<Char, Traits> &out,
                                                         const ref<T> &flag) {
  return out << flag.text().c_str();
}

template <class T>
PD__LOCAL inline result<ref<T>> find(inner::given_text name) {
  pd_flag *flag = nullptr;
  status sought = inner::call([&](pd_error *err_) {
    return PD__HOST(flag_find)(name.c_str(), &flag, err_);
  });
  if (!sought.ok()) return sought;
  ref<T> found(flag);
  result<T> value = found.get();
  if (!value.ok()) return value.status();
  return found;
}

/* Set any flag from text, as a command line does. */
PD__LAZY status set(inner::given_text name, inner::given_text text) {
  return inner::call([&](pd_error *err_) {
    return PD__HOST(flag_set_by_name)(name.c_str(), text.c_str(), err_);
  });
}

/* Read flags from a command line, as pd_parse_argv does. PD_HELP: help was requested. `errors`
 * (may be null) receives all errors; the status is that of the first. */
PD__LAZY status parse(int &argc, char **argv, inner::errors_to errors = nullptr,
                            const pd_parse_options *options = nullptr) {
  pd_error err;
  inner::error_list list;
  pd_parse_options all = detail::sized<pd_parse_options>();
  size_t given = options && options->size < sizeof all ? options->size : sizeof all;
  if (options) __builtin_memcpy(&all, options, given);
  if (!all.errors) all.errors = list.get();
  pd_status code = PD__HOST(parse_argv)(&argc, argv, &all, &err);
  errors.add_all(list);
  return status(code, err);
}

/* A library with flags. It stays loaded until unload() is called. */
class module {
 public:
  PD__LOCAL explicit module(pd_module *handle = nullptr) : handle_(handle) {}
  PD__LOCAL pd_module *handle() const { return handle_; }
  PD__LOCAL status unload() {
    return inner::call([&](pd_error *err_) { return PD__HOST(module_unload)(handle_, err_); });
  }

 private:
  pd_module *handle_;
};

/* Load a shared library; `name_space` and a dot, if any, go in front of its flags' names. A
 * rejected pending value of one of its flags is reported in `errors` alone. */
PD__LAZY result<module> load(inner::given_text path, inner::given_text name_space = "",
                                   inner::errors_to errors = nullptr) {
  pd_error err;
  pd_module *loaded = nullptr;
  inner::error_list list;
  const char *in = *name_space.c_str() ? name_space.c_str() : nullptr;
  pd_status code = PD__HOST(module_load_as)(path.c_str(), in, list.get(), &loaded, &err);
  errors.add_all(list);
  if (!loaded) return status(code, err);
  return module(loaded);
}

}  // namespace pd

#endif /* PD_FLAGS_HOSTING_HPP */
