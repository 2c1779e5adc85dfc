/* A bridge to PaddlePaddle: its exported flags, those that paddle.set_flags knows, become flags of
 * the registry, where you can list, read, set and watch them.
 *
 *     #define PD_HEADER_ONLY // or link libpd_flags
 *     #include <pd_flags/bridge_paddle.hpp>
 *     size_t bridged = pd::bridge_paddle();
 *
 * It finds Paddle in the process: nothing of Paddle is included or linked. The variables are
 * Paddle's own, so both sides share one value. A value that the registry sets is immediately in
 * Paddle's FLAGS_x, and the flags that Paddle links to it follow, as with paddle.set_flags. The
 * registry adopts a value that Paddle sets in its next call about the flag, as set at run time. The
 * default is the value that the flag has when it joins. If Paddle has read that value from the
 * environment variable FLAGS_x, the default is Paddle's, and the value has the source environment.
 * Any thread may call this function. */
#ifndef PD_FLAGS_BRIDGE_PADDLE_HPP
#define PD_FLAGS_BRIDGE_PADDLE_HPP

#include <pd_flags/bridge.hpp>

#include <map>

namespace pd {
namespace bridge_detail PD__LOCAL {

/* phi::FlagInfo of Paddle 3, and paddle::variant of bool, int32_t, int64_t, uint64_t, double and
 * std::string in it. */
struct paddle_value {
  union {
    bool b;
    int32_t i32;
    int64_t i64;
    uint64_t u64;
    double f64;
    alignas(std::string) char text[sizeof(std::string)];
  } held;
  uint32_t index;
};
struct paddle_info {
  std::string name;
  void *variable;
  paddle_value fallback;
  std::string doc;
  bool is_writable;
};
using paddle_map = std::map<std::string, paddle_info>;

static const pd_type paddle_types[] = {PD_TYPE_bool,   PD_TYPE_int32,  PD_TYPE_int64,
                                       PD_TYPE_uint64, PD_TYPE_double, PD_TYPE_string};

/* False if the map isn't what this file expects. */
inline bool is_sound(const paddle_map &map) {
  const std::vector<address_range> ranges = image_ranges();
  for (const auto &named : map) {
    const paddle_info &info = named.second;
    if (info.name != named.first || info.fallback.index > 5) return false;
    if (!is_within(ranges, info.variable)) return false;
  }
  return true;
}

inline std::string text_of(const paddle_value &value) {
  pd_value read = pd_value();
  switch (paddle_types[value.index]) {
    case PD_TYPE_bool: read.b = value.held.b; break;
    case PD_TYPE_int32: read.i64 = value.held.i32; break;
    case PD_TYPE_int64: read.i64 = value.held.i64; break;
    case PD_TYPE_uint64: read.u64 = value.held.u64; break;
    case PD_TYPE_double: read.f64 = value.held.f64; break;
    default: read.str = reinterpret_cast<const std::string *>(value.held.text)->c_str();
  }
  return detail::value_text(paddle_types[value.index], read);
}

/* Sets the flags that Paddle links to this one, as paddle.set_flags does. */
inline void update_linked(pd_flag *flag, void *context) {
  static const auto update = find_function<bool (*)(const std::string &, const std::string &)>(
      "_ZN6paddle5flags17UpdateLinkedFlagsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_");
  const foreign &theirs = *static_cast<const foreign *>(context);
  pd_value value;
  if (!update || ended() || is_theirs(flag) || !load(theirs, value)) return;
  update(theirs.own_name, detail::value_text(theirs.type, value));
}

inline void add_paddle_flag(const paddle_info &info, const std::string &name_space, outcome &out) {
  std::unique_ptr<foreign> flag(new plain);
  std::string variable = "FLAGS_" + info.name;
  pd_value value;
  flag->name = name_space + info.name;
  flag->own_name = info.name;
  flag->help = info.doc;
  flag->type = paddle_types[info.fallback.index];
  flag->key = flag->cell = info.variable;
  flag->access = flag->type == PD_TYPE_string ? &text_access : nullptr;
  flag->watch = update_linked;
  flag->category = info.is_writable ? "exported" : "exported, read-only";
  bool differs =
      load(*flag, value) && detail::value_text(flag->type, value) != text_of(info.fallback);
  if (differs && std::getenv(variable.c_str())) {
    flag->is_default = false;
    flag->fallback = text_of(info.fallback);
    flag->origin = {PD_SOURCE_ENVIRONMENT, 0, variable.c_str(), 0};
  }
  join(std::move(flag), out);
}

inline outcome paddle_flags(const std::string &name_space = "") {
  static const char newer[] = "_ZN3phi22GetExportedFlagInfoMapB5cxx11Ev";
  outcome out;
  begin();
  for (void *each : exported(newer)) {
    const paddle_map &map = function_at<const paddle_map &(*)()>(each)();
    out.registries++;
    if (!is_sound(map)) {
      out.leave_out("*", "this version of Paddle stores its flags in another way");
      continue;
    }
    for (const auto &named : map) add_paddle_flag(named.second, name_space, out);
  }
  if (out.registries == 0 && !exported("_ZN3phi22GetExportedFlagInfoMapEv").empty()) {
    out.registries++;
    out.leave_out("*", "this Paddle is built with the old ABI of std::string");
  }
  finish(out);
  return out;
}

}  // namespace bridge_detail

/* Registers those exported flags of Paddle that aren't registered yet, and returns their number: 0
 * if Paddle isn't loaded. Call it again after loading libraries with more flags. `name_space`, such
 * as "paddle.", is put before their names. `errors` (NULL allowed) receives an error for each flag
 * that was refused because its name is taken, and for each rejected pending value. */
PD__LOCAL inline size_t bridge_paddle(std::vector<std::string> *errors = nullptr,
                                      const std::string &name_space = "") {
  return bridge_detail::report(bridge_detail::paddle_flags(name_space), errors);
}

}  // namespace pd

#endif /* PD_FLAGS_BRIDGE_PADDLE_HPP */
