/* A bridge to a real gflags in the process: its flags, for example glog's, become flags of the
 * registry, where you can list, read and set them.
 *
 *     #include <gflags/gflags.h> // the real one
 *     #define PD_HEADER_ONLY     // or link libpd_flags
 *     #include <pd_flags/bridge_gflags.hpp>
 *     static const size_t bridged = pd::bridge_gflags();
 *
 * Do this in one module of the process, which must link gflags. That module, and the libraries
 * that define the flags, must then stay in the process.
 *
 * The variables are gflags' own, so both sides share one value. A value that the registry sets is
 * in FLAGS_x at once. A value that gflags sets, or that the program assigns, is taken over by the
 * registry's next call about the flag, as set at run time. To ask a gflags validator, the bridge
 * sets the flag in gflags and then restores it: meanwhile other threads may see the new value, and
 * the validator must not call the registry, since gflags holds its lock. */
#ifndef PD_FLAGS_BRIDGE_GFLAGS_HPP
#define PD_FLAGS_BRIDGE_GFLAGS_HPP

#include <pd_flags/names_push.h>

#include <gflags/gflags.h>
#include <pd_flags.h>
#include <pd_flags/catching.hpp>
#include <pd_flags/gflags_word_map.h>
#include <pd_flags/values.hpp>

#ifdef PD_FLAGS_GFLAGS_DEFINE_HPP
#error "the bridge leads to a real gflags: take include/compat off the include path"
#endif

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#ifndef _WIN32
#include <dlfcn.h>
#endif

namespace pd {
namespace gflags_bridge {

namespace gf = ::GFLAGS_NAMESPACE;
using gf::CommandLineFlagInfo;

/* ---- The variables ---- */

/* The pd_type for gflags' name of a type, or 0. */
PD__LOCAL inline uint8_t type_named(const std::string &name) {
#define PD__BRIDGE_TYPE(type, number, ctype, member) if (name == #type) return number;
  PD_TYPE_MAP(PD__BRIDGE_TYPE)
#undef PD__BRIDGE_TYPE
  return 0;
}

PD__LOCAL inline pd_value load(uint8_t type, void *cell) {
  pd_value value = pd_value();
  if (type == PD_TYPE_string) {
    value.str = detail::string_get(cell);
    return value;
  }
#define PD__BRIDGE_LOAD(name, number, ctype, member) \
  if (type == number) detail::put(value, *static_cast<ctype const *>(cell));
  PD_TYPE_MAP(PD__BRIDGE_LOAD)
#undef PD__BRIDGE_LOAD
  return value;
}

/* As if the program assigned it: gflags asks no validator. */
PD__LOCAL inline void store(uint8_t type, void *cell, const pd_value &value) {
  if (type == PD_TYPE_string) return detail::string_put(cell, value.str);
#define PD__BRIDGE_STORE(name, number, ctype, member) \
  if (type == number) *static_cast<ctype *>(cell) = detail::value_type<ctype>::get(value);
  PD_TYPE_MAP(PD__BRIDGE_STORE)
#undef PD__BRIDGE_STORE
}

/* True once the process ends: destructors of other libraries may have destroyed their strings. */
PD__LOCAL inline std::atomic<bool> &ended() {
  static std::atomic<bool> value(false);
  return value;
}

PD__LOCAL inline void end() { ended() = true; }

PD__LOCAL inline const char *text_get(void *cell) {
  return ended() ? nullptr : detail::string_get(cell);
}

PD__LOCAL inline void text_put(void *cell, const char *text) {
  if (!ended()) detail::string_put(cell, text);
}

static const pd_cell_access text_access = {sizeof(pd_cell_access), text_get, text_put};

/* ---- Validators ---- */

/* The context of a definition. Never freed. */
struct bridged {
  std::string name;
  uint8_t type;
  void *cell;
};

PD__LOCAL inline bool gflags_accepts(const bridged &flag, const pd_value &value) {
  CommandLineFlagInfo info;
  if (!gf::GetCommandLineFlagInfo(flag.name.c_str(), &info) || !info.has_validator_fn) return true;
  pd_value before = load(flag.type, flag.cell);
  std::string kept = flag.type == PD_TYPE_string ? before.str : "";
  if (flag.type == PD_TYPE_string) before.str = kept.c_str();
  std::string text = detail::value_text(static_cast<pd_type>(flag.type), value);
  bool accepted = !gf::SetCommandLineOption(flag.name.c_str(), text.c_str()).empty();
  if (accepted) store(flag.type, flag.cell, before);
  return accepted;
}
PD__LOCAL inline bool is_accepted(const pd_flag_entry *const *entries, void *context, char *why,
                            size_t size) {
  const bridged &flag = *static_cast<const bridged *>(context);
  return detail::ask_catching(why, size,
                              [&] { return gflags_accepts(flag, entries[0]->value); });
}

/* ---- Registering ---- */

/* gflags' built-in flags, which our command lines handle themselves. */
PD__LOCAL inline bool is_word(const std::string &name) {
#define PD__BRIDGE_WORD(kind, word, ...) if (name == #word) return true;
  PD__GFLAGS_WORD_MAP(PD__BRIDGE_WORD)
#undef PD__BRIDGE_WORD
  return false;
}

PD__LOCAL inline bool is_known(const CommandLineFlagInfo &flag) {
  pd_flag *known = nullptr;
  pd_cell_info cell = detail::sized<pd_cell_info>();
  if (pd_flag_find(flag.name.c_str(), &known, nullptr) != PD_OK) return false;
  for (size_t i = 0; pd_flag_get_cell(known, i, &cell, nullptr) == PD_OK; i++) {
    if (cell.address == flag.flag_ptr) return true;
  }
  return false;
}

/* The default is the current value at first, so that the variable keeps it. */
PD__LOCAL inline pd_status register_flag(const CommandLineFlagInfo &info, pd_error *err) {
  pd_flag_def def;
  pd_flag *flag = nullptr;
  uint8_t type = type_named(info.type);
  pd_flag_def_init(&def, sizeof def, static_cast<pd_type>(type));
  bridged *made = new bridged{info.name, type, const_cast<void *>(info.flag_ptr)};
  std::string text = type == PD_TYPE_string ? detail::string_get(made->cell) : "";
  def.name = made->name.c_str();
  def.help = info.description.c_str();
  def.file = info.filename.c_str();
  def.cell = made->cell;
  def.assignable = true;
  def.access = type == PD_TYPE_string ? &text_access : nullptr;
  def.validate = is_accepted;
  def.context = made;
  def.default_value = load(type, made->cell);
  if (type == PD_TYPE_string) def.default_value.str = text.c_str();
  text = detail::value_text(static_cast<pd_type>(type), def.default_value);
  pd_status status = pd_flag_register(&def, &flag, err);
  if (!flag) {
    delete made;
    return status;
  }
  pd_origin origin = {PD_SOURCE_RUNTIME, 0, nullptr, 0};
  pd_flag_entry now = detail::sized<pd_flag_entry>();
  bool waited = pd_flag_get_entry(flag, 0, &now, nullptr) == PD_OK &&
                now.origin.source != PD_SOURCE_DEFAULT;
  pd_assignment given = {flag, text.c_str(), PD_TYPE_string, {}};
  if (!info.is_default && !waited) pd_batch_set(&given, 1, &origin, nullptr, nullptr);
  if (!info.is_default) pd_flag_set_default(flag, info.default_value.c_str(), nullptr);
  return status;
}

/* Keep this module loaded: the registry calls its code. */
PD__LOCAL inline void stay() {
#ifndef _WIN32
  Dl_info here;
  if (dladdr(reinterpret_cast<const void *>(&text_access), &here) && here.dli_fname) {
    dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
#endif
}

}  // namespace gflags_bridge

/* Register those flags of the real gflags that aren't registered yet, and return their number.
 * Call it again after loading libraries with more flags. `errors` (NULL allowed) receives an error
 * for each flag that was refused, since its name is taken, and for each rejected pending value. */
PD__LOCAL inline size_t bridge_gflags(std::vector<std::string> *errors = nullptr) {
  size_t count = 0;
  std::vector<gflags_bridge::CommandLineFlagInfo> all;
  ::GFLAGS_NAMESPACE::GetAllFlags(&all);
  gflags_bridge::stay();
  std::atexit(gflags_bridge::end); /* runs before the destructors of the flags found now */
  for (const gflags_bridge::CommandLineFlagInfo &info : all) {
    pd_error err;
    if (gflags_bridge::is_word(info.name) || gflags_bridge::is_known(info)) continue;
    if (gflags_bridge::register_flag(info, &err) != PD_OK && errors) errors->push_back(err.message);
    count += gflags_bridge::is_known(info);
  }
  return count;
}

}  // namespace pd

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_BRIDGE_GFLAGS_HPP */
