/* One flag as gflags' functions see it: a flag of the registry, or a built-in one of gflags. */
#ifndef PD_FLAGS_GFLAGS_FLAG_HPP
#define PD_FLAGS_GFLAGS_FLAG_HPP

#include <pd_flags/gflags_words.hpp>

#include <cerrno>
#include <cstdlib>

namespace pd {
namespace gflags_detail PD__LOCAL {

namespace gf = ::GFLAGS_NAMESPACE;
using gf::CommandLineFlagInfo;
using gf::FlagSettingMode;

/* ---- Text ---- */

/* Reads values as gflags does, but refuses leading blanks, as the registry does. */
PD__LAZY bool text_to_value(pd_type type, const std::string &text, pd_value *out) {
  const char *begin = text.c_str();
  char *end = nullptr;
  if (type == PD_TYPE_bool) return detail::read_bool(begin, out->b);
  if (type == PD_TYPE_string) return (out->str = begin) != nullptr;
  if (text.empty() || __builtin_strchr(" \t\n\v\f\r", *begin)) return false;
  const char *digits = begin + (*begin == '-' || *begin == '+');
  int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
  errno = 0;
  if (type == PD_TYPE_double) {
    out->f64 = std::strtod(begin, &end);
  } else if (type == PD_TYPE_int32 || type == PD_TYPE_int64) {
    out->i64 = std::strtoll(begin, &end, base);
  } else {
    if (*begin == '-') return false;
    out->u64 = std::strtoull(begin, &end, base);
  }
  if (errno != 0 || end != begin + text.size()) return false;
  if (type == PD_TYPE_int32) return out->i64 >= INT32_MIN && out->i64 <= INT32_MAX;
  return type != PD_TYPE_uint32 || out->u64 <= UINT32_MAX;
}

/* ---- Definitions of this module ---- */

/* Flags without a macro: those of a FlagRegisterer, and those of other modules to which this one
 * added a validator. */
PD__LAZY checker *&registered() {
  static checker *first = nullptr;
  return first;
}

/* Finds a definition by the address of its variable. <map> would cost each source file more than
 * this does. */
template <class = void>
class checkers {
 public:
  PD__LOCAL checkers() {
    const pd_flag_def *const *at = pd__module_v1.defs;
    for (; at < pd__module_v1.defs_end; at++) {
      if (!*at || !(*at)->assignable || !(*at)->context) continue;
      checker *check = static_cast<checker *>((*at)->context);
      all_.push_back({(*at)->cell, check});
      if (check->where) all_.push_back({check->where(), check});
    }
    for (checker *each = registered(); each; each = each->next) {
      all_.push_back({each->variable, each});
    }
    if (!all_.empty()) std::qsort(all_.data(), all_.size(), sizeof all_[0], compare);
  }
  PD__LOCAL checker *find(const void *variable) const {
    entry wanted = {variable, nullptr};
    if (all_.empty()) return nullptr;
    void *found = std::bsearch(&wanted, all_.data(), all_.size(), sizeof wanted, compare);
    return found ? static_cast<entry *>(found)->check : nullptr;
  }

 private:
  struct entry {
    const void *variable;
    checker *check;
  };
  PD__LOCAL static int compare(const void *a, const void *b) {
    uintptr_t first = reinterpret_cast<uintptr_t>(static_cast<const entry *>(a)->variable);
    uintptr_t other = reinterpret_cast<uintptr_t>(static_cast<const entry *>(b)->variable);
    return first < other ? -1 : first > other;
  }
  std::vector<entry> all_;
};

/* The definition by a macro that has this context, or NULL. */
PD__LAZY pd_flag_def *definition_of(const checker &check) {
  const pd_flag_def *const *at = pd__module_v1.defs;
  while (at < pd__module_v1.defs_end && !(*at && (*at)->context == &check)) at++;
  return at < pd__module_v1.defs_end ? const_cast<pd_flag_def *>(*at) : nullptr;
}

/* Accepts every value. A definition that had no validator when it joined is asked for one only
 * if the flag has a hook. */
PD__LAZY bool accept(const pd_flag_entry *const *, void *, char *, size_t) { return true; }

/* The definition keeps the validator: its module may leave and join again, which removes hooks. */
PD__LAZY bool set_validator(checker &check, void (*function)()) {
  const pd_table *table = detail::table_of_host();
  pd_flag_def *def = definition_of(check);
  check.function = function;
  if (def) __atomic_store_n(&def->validate, function ? check.ask : nullptr, __ATOMIC_RELEASE);
  if (!function && check.hook) table->hook_remove(check.hook, nullptr);
  if (!function) check.hook = 0;
  if (!function || check.hook) return true;
  pd_flag *flag = detail::flag_of(def ? def->cell : check.variable, check.name);
  if (!flag) return def != nullptr;
  return table->validator_add(&flag, 1, def ? accept<> : check.ask, &check, nullptr, &check.hook,
                              nullptr) == PD_OK;
}

/* ---- A flag ---- */

struct handle {
  pd_flag *flag; /* of the registry; NULL if it is built in or not found */
  word *own;
  bool exists() const { return flag || own; }
};

PD__LAZY pd_flag_info info_of(const pd_flag *flag) {
  pd_flag_info info = detail::sized<pd_flag_info>();
  if (pd_flag_get_info(flag, &info, nullptr) != PD_OK) info.type = PD_TYPE_bool;
  return info;
}

/* `-` in a name may mean `_`. */
PD__LAZY handle find(const std::string &name) {
  handle found = {nullptr, find_word(name)};
  if (found.exists() || name.empty()) return found;
  if (pd_flag_find(name.c_str(), &found.flag, nullptr) == PD_OK) return found;
  std::string other = name;
  for (char &c : other) c = c == '-' ? '_' : c;
  return {nullptr, find_word(other)};
}

PD__LAZY pd_type type_of_flag(const handle &of) {
  return of.own ? of.own->type : info_of(of.flag).type;
}

PD__LAZY std::string name_of(const handle &of) {
  return of.own ? of.own->name : info_of(of.flag).name;
}

PD__LAZY std::string help_of(const handle &of) {
  return of.own ? of.own->help : info_of(of.flag).help;
}

/* `plain`: also values that must not be shown. */
PD__LAZY std::string text_of_flag(const pd_flag *flag, const pd_flag_info &info,
                                          bool plain = false) {
  pd_flag_entry entry = detail::sized<pd_flag_entry>();
  if (info.sensitive && !plain) return "<redacted>";
  if (pd_flag_get_entry(flag, 0, &entry, nullptr) != PD_OK) return "";
  return detail::value_text(info.type, entry.value);
}

PD__LAZY std::string text_of_word(const word &own) {
  if (own.type == PD_TYPE_string) return *static_cast<std::string *>(own.variable);
  if (own.type == PD_TYPE_bool) return *static_cast<bool *>(own.variable) ? "true" : "false";
  return detail::write_integer(*static_cast<int32_t *>(own.variable));
}

PD__LAZY std::string text_of(const handle &of, bool plain = false) {
  return of.own ? text_of_word(*of.own) : text_of_flag(of.flag, info_of(of.flag), plain);
}

/* Returns true if the flag was set, or assigned a value other than its default. */
PD__LAZY bool is_given(const handle &of) {
  if (of.flag) return info_of(of.flag).source != PD_SOURCE_DEFAULT;
  if (text_of_word(*of.own) != of.own->fallback) of.own->given = true;
  return of.own->given;
}

/* The variable of the definition, and the room for its validator if it is in this module. */
PD__LAZY const void *variable_of(const pd_flag *flag,
                                         const checkers<> &known,
                                         checker **out) {
  const void *variable = nullptr;
  pd_cell_info cell = detail::sized<pd_cell_info>();
  *out = nullptr;
  for (size_t i = 0; pd_flag_get_cell(flag, i, &cell, nullptr) == PD_OK; i++) {
    if (cell.kind != PD_KIND_DEFINE || !cell.address) continue;
    variable = cell.address;
    checker *check = known.find(variable);
    if (!check) continue;
    *out = check;
    break;
  }
  return variable;
}

PD__LAZY CommandLineFlagInfo describe(const handle &of,
                                              const checkers<> &known) {
  if (of.own) {
    return {of.own->name,     pd_type_name(of.own->type), of.own->help, text_of(of),
            of.own->fallback, of.own->file,               false,        !is_given(of),
            of.own->variable};
  }
  checker *check = nullptr;
  const void *variable = variable_of(of.flag, known, &check);
  if (check && check->where) variable = check->where();
  pd_flag_info info = info_of(of.flag);
  /* An older host doesn't count validators. */
  bool has_validator = info.validators > 0 || (check && check->function);
  std::string fallback = detail::value_text(info.type, info.default_value);
  if (info.sensitive) fallback = "<redacted>";
  return {info.name, pd_type_name(info.type), info.help, text_of_flag(of.flag, info), fallback,
          info.file, has_validator, info.source == PD_SOURCE_DEFAULT, variable};
}

/* ---- Setting ---- */

PD__LAZY std::string complain(const handle &of, const std::string &text, pd_status status,
                                      const pd_error &err) {
  pd_value value;
  pd_type type = type_of_flag(of);
  bool read = text_to_value(type, text, &value);
  if (status == PD_ERR_REFUSED && read) {
    return "ERROR: failed validation of new value '" + detail::value_text(type, value) +
           "' for flag '" + name_of(of) + "'\n";
  }
  if (status == PD_ERR_VALUE || (status == PD_ERR_RANGE && !read)) {
    return "ERROR: illegal value '" + text + "' specified for " + pd_type_name(type) + " flag '" +
           name_of(of) + "'\n";
  }
  return std::string("ERROR: ") + err.message + "\n";
}

PD__LAZY bool accepts_text(const checker *check, pd_type type, const std::string &text) {
  pd_value value;
  if (!check || !check->function || !text_to_value(type, text, &value)) return true;
  if (type == PD_TYPE_string) return accepts(*check, text);
#define PD__GFLAGS_ACCEPTS(name, number, ctype, member) \
  case PD_TYPE_##name: return accepts(*check, detail::value_type<ctype>::get(value));
  switch (type) { PD_TYPE_MAP(PD__GFLAGS_ACCEPTS) }
#undef PD__GFLAGS_ACCEPTS
  return true;
}

/* In gflags, the command line replaces what the program assigned or set before. Here such a value,
 * or a live one, has a higher rank and would hide the command line's, which therefore gets that rank
 * too. */
PD__LAZY pd_status give(pd_flag *flag, const std::string &text, pd_origin origin,
                                pd_error *err) {
  pd_assignment item;
  __builtin_memset(&item, 0, sizeof item);
  item.flag = flag;
  item.text = text.c_str();
  pd_source now = info_of(flag).source;
  bool above = pd_source_rank(now) > pd_source_rank(origin.source);
  bool set = pd_source_rank(now) == pd_source_rank(PD_SOURCE_RUNTIME);
  if (above && set) origin.source = PD_SOURCE_RUNTIME;
  return pd_batch_set(&item, 1, &origin, nullptr, err);
}

/* The registry validates current values only, and a default may not be current. */
PD__LAZY pd_status give_default(pd_flag *flag, const std::string &text, pd_error *err) {
  checker *check = nullptr;
  variable_of(flag, checkers<>(), &check);
  if (!accepts_text(check, info_of(flag).type, text)) return PD_ERR_REFUSED;
  return pd_flag_set_default(flag, text.c_str(), err);
}

PD__LAZY bool give_word(word *own, const std::string &text) {
  pd_value value;
  if (!text_to_value(own->type, text, &value)) return false;
  if (own->type == PD_TYPE_string) *static_cast<std::string *>(own->variable) = text;
  if (own->type == PD_TYPE_bool) *static_cast<bool *>(own->variable) = value.b;
  if (own->type == PD_TYPE_int32) {
    *static_cast<int32_t *>(own->variable) = static_cast<int32_t>(value.i64);
  }
  return true;
}

PD__LAZY pd_status set_word(word *own, const std::string &text, FlagSettingMode mode) {
  pd_value value;
  bool given = is_given({nullptr, own});
  if (!text_to_value(own->type, text, &value)) return PD_ERR_VALUE;
  if (mode == gf::SET_FLAGS_DEFAULT) own->fallback = detail::value_text(own->type, value);
  if (mode == gf::SET_FLAGS_DEFAULT && given) return PD_OK;
  own->given = mode != gf::SET_FLAGS_DEFAULT;
  return give_word(own, text) ? PD_OK : PD_ERR_VALUE;
}

/* Returns whether it was set; `message` says what happened, as in gflags. */
PD__LAZY bool set(const handle &of, const std::string &text, FlagSettingMode mode,
                          const pd_origin &origin, std::string *message) {
  pd_error err;
  err.message[0] = '\0';
  if (mode == gf::SET_FLAG_IF_DEFAULT && is_given(of)) {
    *message = name_of(of) + " set to " + text_of(of);
    return true;
  }
  pd_status status = of.own                          ? set_word(of.own, text, mode)
                     : mode == gf::SET_FLAGS_DEFAULT ? give_default(of.flag, text, &err)
                                                     : give(of.flag, text, origin, &err);
  if (status != PD_OK) {
    *message = complain(of, text, status, err);
    return false;
  }
  std::string now = text_of(of);
  if (mode == gf::SET_FLAGS_DEFAULT) now = describe(of, checkers<>()).default_value;
  *message = name_of(of) + " set to " + now + "\n";
  return true;
}

}  // namespace gflags_detail
}  // namespace pd

#endif /* PD_FLAGS_GFLAGS_FLAG_HPP */
