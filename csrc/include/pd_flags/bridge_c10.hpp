/* A bridge to c10's flags, those of PyTorch: the flags of C10_DEFINE_<type> become flags of the
 * registry, where you can list, read, set and watch them.
 *
 *     #define PD_HEADER_ONLY // or link libpd_flags
 *     #include <pd_flags/bridge_c10.hpp>
 *     size_t bridged = pd::bridge_c10();
 *
 * It finds c10 in the process: nothing of PyTorch is included or linked. c10's registry only knows
 * names and help texts, "(int, default 5) How many"; the variables are found by their symbols,
 * FLAGS_<name>, and their sizes compared with the types. The variables are c10's own, so both sides
 * share one value. The registry adopts a value that c10 or the program sets in its next call about
 * the flag, as set at run time. The default is the value that the flag has when it joins. If
 * PyTorch was built with gflags, its flags are gflags': see bridge_gflags.hpp. Any thread may call
 * this function, while no other thread is loading a library. */
#ifndef PD_FLAGS_BRIDGE_C10_HPP
#define PD_FLAGS_BRIDGE_C10_HPP

#include <pd_flags/bridge.hpp>

#include <cstring>
#include <functional>
#include <unordered_map>

namespace pd {
namespace bridge_detail PD__LOCAL {

/* The beginning of c10::Registry<std::string, std::unique_ptr<C10FlagParser>, const std::string &>,
 * as it is in PyTorch 1 and 2. */
struct c10_registry {
  std::unordered_map<std::string, std::function<void()>> creators;
  std::unordered_map<std::string, int> priorities;
  bool terminates;
  bool warns;
  std::unordered_map<std::string, std::string> help;
};

struct c10_type {
  const char *name; /* as C10_DEFINE writes it */
  pd_type type;
  size_t size; /* of the variable, in bytes */
};
static const c10_type c10_types[] = {
    {"int", PD_TYPE_int32, 4},           {"int32_t", PD_TYPE_int32, 4},
    {"int64_t", PD_TYPE_int64, 8},       {"uint32_t", PD_TYPE_uint32, 4},
    {"uint64_t", PD_TYPE_uint64, 8},     {"double", PD_TYPE_double, 8},
    {"bool", PD_TYPE_bool, sizeof(bool)}, {"std::string", PD_TYPE_string, sizeof(std::string)},
};

/* Splits "(int, default 5) How many". The default is any expression, so it is ignored. */
inline const c10_type *read_help(const std::string &text, std::string *help) {
  size_t comma = text.find(", default "), last = text.find(") ");
  if (text.empty() || text[0] != '(' || comma == std::string::npos) return nullptr;
  if (last == std::string::npos || last < comma) return nullptr;
  *help = text.c_str() + last + 2;
  for (const c10_type &each : c10_types) {
    size_t length = std::strlen(each.name);
    bool same = comma == length + 1 && std::memcmp(text.c_str() + 1, each.name, length) == 0;
    if (same) return &each;
  }
  return nullptr;
}

/* The size of the symbol at the address, in bytes; 0 if it isn't known. */
inline size_t size_at(const void *address) {
#ifdef __GLIBC__ /* musl has no dladdr1 */
  Dl_info here;
  const ElfW(Sym) *symbol = nullptr;
  void **place = reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&symbol));
  if (dladdr1(address, &here, place, RTLD_DL_SYMENT) && symbol) return symbol->st_size;
#endif
  (void)address;
  return 0;
}

/* A std::string has the tag of its ABI in the symbol. */
inline std::string symbol_of(const c10_type &type, const std::string &name) {
  std::string variable = "FLAGS_" + name;
  if (type.type != PD_TYPE_string) return variable;
  return "_Z" + detail::write_integer(variable.size()) + variable + "B5cxx11";
}

inline void add_c10_flag(const void *key, const std::string &name, const std::string &about,
                         const std::string &name_space, outcome &out) {
  std::unique_ptr<foreign> flag(new plain);
  const c10_type *type = read_help(about, &flag->help);
  if (!type) return out.leave_out(name, "its type is not one of C10_DEFINE's");
  std::vector<void *> variables = exported(symbol_of(*type, name));
  if (variables.size() != 1) {
    const char *count = variables.empty() ? "no library exports" : "several libraries export";
    return out.leave_out(name, count + (" the variable FLAGS_" + name));
  }
  size_t size = size_at(variables[0]);
  if (size && size != type->size) {
    return out.leave_out(name, "its variable has " + detail::write_integer(size) +
                                   " bytes, expected the " + detail::write_integer(type->size) +
                                   " of " + type->name);
  }
  flag->name = name_space + name;
  flag->own_name = name;
  flag->type = type->type;
  flag->key = key;
  flag->cell = variables[0];
  flag->access = flag->type == PD_TYPE_string ? &text_access : nullptr;
  flag->category = "c10";
  join(std::move(flag), out);
}

inline outcome c10_flags(const std::string &name_space = "") {
  outcome out;
  begin();
  for (void *each : exported("_ZN3c1016C10FlagsRegistryB5cxx11Ev")) {
    const c10_registry &registry = *function_at<const c10_registry *(*)()>(each)();
    out.registries++;
    if (registry.creators.size() != registry.priorities.size() ||
        registry.help.size() > registry.creators.size()) {
      out.leave_out("*", "this version of c10 stores its flags in another way");
      continue;
    }
    for (const auto &named : registry.help) {
      if (has_joined(&named, out)) continue; /* finding its variable takes time */
      add_c10_flag(&named, named.first, named.second, name_space, out);
    }
  }
  finish(out);
  return out;
}

}  // namespace bridge_detail

/* Registers those flags of c10 that aren't registered yet, and returns their number: 0 if c10 isn't
 * loaded. Call it again after loading libraries with more flags. `name_space`, such as "torch.", is
 * put before their names. `errors` (NULL allowed) receives an error for each flag that was refused
 * because its name is taken or its variable isn't found, and for each rejected pending value. */
PD__LOCAL inline size_t bridge_c10(std::vector<std::string> *errors = nullptr,
                                   const std::string &name_space = "") {
  return bridge_detail::report(bridge_detail::c10_flags(name_space), errors);
}

}  // namespace pd

#endif /* PD_FLAGS_BRIDGE_C10_HPP */
