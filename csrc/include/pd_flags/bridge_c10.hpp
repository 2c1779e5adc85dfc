/* A bridge to c10's flags, those of PyTorch: the flags of C10_DEFINE_<type> become flags of the
 * registry, where you can list, read, set and watch them.
 *
 *     #define PD_HEADER_ONLY // or link libpd_flags
 *     #include <pd_flags/bridge_c10.hpp>
 *     size_t bridged = pd::bridge_c10();
 *
 * It finds c10 in the process: nothing of PyTorch is included or linked. c10's registry only knows
 * names and help texts, "(int, default 5) How many"; the variables are found by their symbols,
 * FLAGS_<name>, and their sizes compared with the types. The variables are c10's own, so both
 * sides share one value. A value that c10 or the program sets is taken over by the registry's next
 * call about the flag, as set at run time. A PyTorch that was built with gflags has its flags
 * there: see bridge_gflags.hpp. Any thread may call it, while no other loads a library. */
#ifndef PD_FLAGS_BRIDGE_C10_HPP
#define PD_FLAGS_BRIDGE_C10_HPP

#include <pd_flags/bridge.hpp>

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

/* Splits "(int, default 5) How many". */
inline const c10_type *read_help(const std::string &text, std::string *fallback,
                                 std::string *help) {
  static const char middle[] = ", default ";
  size_t comma = text.find(middle), last = text.find(") ");
  if (text.empty() || text[0] != '(' || comma == std::string::npos) return nullptr;
  if (last == std::string::npos || last < comma) return nullptr;
  size_t begins = comma + sizeof middle - 1;
  *fallback = text.substr(begins, last - begins);
  *help = text.substr(last + 2);
  for (const c10_type &each : c10_types) {
    if (text.compare(1, comma - 1, each.name) == 0) return &each;
  }
  return nullptr;
}

/* The size of the symbol at the address, in bytes; 0 if it isn't known. */
inline size_t size_at(const void *address) {
#ifdef RTLD_DL_SYMENT
  Dl_info here;
  const ElfW(Sym) *symbol = nullptr;
  void **place = reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&symbol));
  if (dladdr1(address, &here, place, RTLD_DL_SYMENT) && symbol) return symbol->st_size;
#endif
  (void)address;
  return 0;
}

/* True if the source text of a default says that it is another value; it may be any expression. A
 * literal for a text loses its quotes. */
inline bool differs(pd_type type, const pd_value &value, std::string *source) {
  char *rest = nullptr;
  if (type == PD_TYPE_string) {
    size_t length = source->size();
    if (length < 2 || (*source)[0] != '"' || (*source)[length - 1] != '"') return false;
    *source = source->substr(1, length - 2);
    return *source != value.str;
  }
  if (type == PD_TYPE_bool) return *source == (value.b ? "false" : "true");
  std::string now = detail::value_text(type, value);
  double number = std::strtod(source->c_str(), &rest);
  return rest != source->c_str() && !*rest && number != std::strtod(now.c_str(), nullptr);
}

inline void add_c10_flag(const std::string &name, const std::string &about,
                         const std::string &name_space, outcome &out) {
  std::unique_ptr<foreign> flag(new plain);
  const c10_type *type = read_help(about, &flag->fallback, &flag->help);
  if (!type) return out.leave_out(name, "its type is not one of C10_DEFINE's");
  std::vector<void *> variables = exported("FLAGS_" + name);
  if (variables.size() != 1) {
    const char *count = variables.empty() ? "no library exports" : "several libraries export";
    return out.leave_out(name, count + (" the variable FLAGS_" + name));
  }
  size_t size = size_at(variables[0]);
  if (size && size != type->size) {
    return out.leave_out(name, std::string("its variable is not a ") + type->name);
  }
  pd_value value;
  flag->name = name_space + name;
  flag->own_name = name;
  flag->type = type->type;
  flag->cell = variables[0];
  flag->access = flag->type == PD_TYPE_string ? &text_access : nullptr;
  flag->category = "c10";
  if (!load(*flag, value)) return;
  flag->is_default = !differs(flag->type, value, &flag->fallback);
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
      add_c10_flag(named.first, named.second, name_space, out);
    }
  }
  finish(out);
  return out;
}

}  // namespace bridge_detail

/* Registers those flags of c10 that aren't registered yet, and returns their number: 0 if c10 isn't
 * loaded. Call it again after loading libraries with more flags. `name_space` goes in front of
 * their names, such as "torch.". `errors` (NULL allowed) receives an error for each flag that was
 * refused, since its name is taken or its variable isn't found, and for each rejected pending
 * value. */
PD__LOCAL inline size_t bridge_c10(std::vector<std::string> *errors = nullptr,
                                   const std::string &name_space = "") {
  return bridge_detail::report(bridge_detail::c10_flags(name_space), errors);
}

}  // namespace pd

#endif /* PD_FLAGS_BRIDGE_C10_HPP */
