/* phi::GetExportedFlagInfoMap; paddle/common/flags.h includes it. */
#ifndef PD_COMPAT_PADDLE_EXPORTED_H
#define PD_COMPAT_PADDLE_EXPORTED_H

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

/* paddle::variant: Paddle's own if it is available, otherwise the standard's from C++17 on. */
#if defined(__has_include)
#if __has_include("paddle/utils/variant.h")
#define PD__PADDLE_VARIANT
#include "paddle/utils/variant.h"
#endif
#endif
#if !defined(PD__PADDLE_VARIANT) && __cplusplus >= 201703L
#include <variant>
namespace paddle {
using std::get;
using std::holds_alternative;
using std::variant;
using std::visit;
}  // namespace paddle
#elif !defined(PD__PADDLE_VARIANT)
#include <paddle/pd_flags/variant.h>
#endif

namespace phi {

/* Not Paddle's struct, which may hold another variant: the process must not merge the two structs'
 * functions for maps. If Paddle's own header comes after this one, it fails here. */
struct PD__LOCAL FlagInfo_of_paddle_flags__either_this_header_or_that_of_Paddle {
  using ValueType = paddle::variant<bool, int32_t, int64_t, uint64_t, double, std::string>;
  std::string name;
  mutable void *value_ptr; /* of the variable FLAGS_<name> */
  ValueType default_value;
  std::string doc;
  bool is_writable; /* from Python */
};
using FlagInfo = FlagInfo_of_paddle_flags__either_this_header_or_that_of_Paddle;

using ExportedFlagInfoMap = std::map<std::string, FlagInfo>;

#ifdef PADDLE_WITH_GFLAGS

inline ExportedFlagInfoMap &pd_exported_flags() {
  static ExportedFlagInfoMap map;
  return map;
}

template <class T>
bool pd_export_flag(const char *name, T *variable, const char *doc, bool writable) {
  FlagInfo info = {name, variable, FlagInfo::ValueType(*variable), doc, writable};
  return pd_exported_flags().insert(std::make_pair(std::string(name), info)).second;
}

#else

/* The value, as FlagInfo stores it for the flag's type. */
template <class T>
PD__LOCAL T pd_exported_as(T value) {
  return value;
}
PD__LOCAL inline uint64_t pd_exported_as(uint32_t value) { return value; }
PD__LOCAL inline std::string pd_exported_as(const char *value) { return value; }

PD__LOCAL inline FlagInfo::ValueType pd_exported_default(const pd_flag_info &info) {
#define PD__EXPORTED_DEFAULT(name, number, ctype, member) \
  case PD_TYPE_##name:                                    \
    return FlagInfo::ValueType(                           \
        pd_exported_as(pd::detail::value_type<ctype>::get(info.default_value)));
  switch (info.type) { PD_TYPE_MAP(PD__EXPORTED_DEFAULT) }
#undef PD__EXPORTED_DEFAULT
  return FlagInfo::ValueType();
}

/* A std::string is the first member of its cell, so every cell's address is that of its
 * variable. */
PD__LOCAL inline bool pd_exported_info(const pd_flag *flag, FlagInfo *out) {
  pd_flag_info info = pd::detail::sized<pd_flag_info>();
  pd_cell_info cell = pd::detail::sized<pd_cell_info>();
  if (pd_flag_get_info(flag, &info, nullptr) != PD_OK) return false;
  bool writable = info.category == std::string("exported");
  if (!writable && info.category != std::string("exported, read-only")) return false;
  if (pd_flag_get_cell(flag, 0, &cell, nullptr) != PD_OK || !cell.address) return false;
  *out = {info.name, const_cast<void *>(cell.address), pd_exported_default(info), info.help,
          writable};
  return true;
}

/* Releases `busy`. Not std::mutex, which some builds of mingw lack. */
PD__LOCAL inline void pd_exported_let_go(char *busy) { __atomic_clear(busy, __ATOMIC_RELEASE); }

/* The registry's current flags, of all modules; entries that the program added stay. The registry
 * is queried before the lock is acquired: its watchers may ask for the map. */
PD__LOCAL inline ExportedFlagInfoMap &pd_exported_flags() {
  static ExportedFlagInfoMap map;
  static std::set<std::string> ours;
  static char busy = 0;
  ExportedFlagInfoMap present;
  pd_flag *flag = nullptr;
  while ((flag = pd_flag_next(flag)) != nullptr) {
    FlagInfo info;
    if (pd_exported_info(flag, &info)) present[info.name] = info;
  }
  while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE)) {
  }
  std::unique_ptr<char, void (*)(char *)> hold(&busy, pd_exported_let_go);
  for (const std::string &name : ours) {
    if (!present.count(name)) map.erase(name);
  }
  ours.clear();
  for (const auto &each : present) {
    map.insert(each).first->second.value_ptr = each.second.value_ptr; /* may have moved */
    ours.insert(each.first);
  }
  return map;
}

#endif

/* Templates, so that they don't clash with the functions of Paddle's own flags.cc. */
template <class Ours = void>
ExportedFlagInfoMap *GetMutableExportedFlagInfoMap() {
  return &pd_exported_flags();
}
template <class Ours = void>
const ExportedFlagInfoMap &GetExportedFlagInfoMap() {
  return pd_exported_flags();
}

}  // namespace phi

#endif /* PD_COMPAT_PADDLE_EXPORTED_H */
