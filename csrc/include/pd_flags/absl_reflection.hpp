/* The classes of compat/absl/flags/reflection.h: handles of the registry's flags. */
#ifndef PD_FLAGS_ABSL_REFLECTION_HPP
#define PD_FLAGS_ABSL_REFLECTION_HPP

#include <pd_flags/absl_flag.hpp>
#include <pd_flags/hosting.hpp>

#include <map>
#include <optional>

namespace pd {
namespace absl_flags PD__LOCAL {

PD__LOCAL inline pd_flag_info info_of(const pd_flag *flag) {
  pd_flag_info info = ::pd::detail::sized<pd_flag_info>();
  if (pd_flag_get_info(flag, &info, nullptr) != PD_OK) {
    info.name = info.help = info.file = info.retired = "";
  }
  return info;
}

/* For a flag of this module, its own tag; for another flag, the tag of the registry's type. */
PD__LOCAL inline const void *type_of_flag(const pd_flag *flag) {
  pd_flag_info info = info_of(flag);
  for (const known_flag *at = known_flags(); at; at = at->next) {
    if (__builtin_strcmp(at->name, info.name) == 0) return at->type;
  }
  switch (info.type) {
    case PD_TYPE_bool: return type_tag<bool>();
    case PD_TYPE_int32: return type_tag<int32_t>();
    case PD_TYPE_uint32: return type_tag<uint32_t>();
    case PD_TYPE_int64: return type_tag<int64_t>();
    case PD_TYPE_uint64: return type_tag<uint64_t>();
    case PD_TYPE_double: return type_tag<double>();
    default: return type_tag<std::string>();
  }
}

}  // namespace absl_flags
}  // namespace pd

namespace absl {

/* Any flag of the process, whichever module defines it. Lives until the process ends. */
class CommandLineFlag {
 public:
  PD__LOCAL explicit CommandLineFlag(pd_flag *flag)
      : flag_(flag), name_(pd_flag_get_name(flag)) {}
  CommandLineFlag(const CommandLineFlag &) = delete;
  CommandLineFlag &operator=(const CommandLineFlag &) = delete;

  PD__LOCAL string_view Name() const { return name_; }
  PD__LOCAL std::string Help() const { return ::pd::absl_flags::info_of(flag_).help; }
  PD__LOCAL std::string Filename() const { return ::pd::absl_flags::info_of(flag_).file; }
  PD__LOCAL bool IsRetired() const { return *::pd::absl_flags::info_of(flag_).retired != '\0'; }
  PD__LOCAL std::string CurrentValue() const { return ::pd::inner::text_of(flag_); }
  PD__LOCAL std::string DefaultValue() const {
    pd_flag_info info = ::pd::absl_flags::info_of(flag_);
    if (info.type == PD_TYPE_double) return ::pd::inner::write_double(info.default_value.f64).text;
    return ::pd::detail::value_text(info.type, info.default_value);
  }
  template <class T>
  PD__LOCAL bool IsOfType() const {
    return ::pd::absl_flags::type_of_flag(flag_) == ::pd::absl_flags::type_tag<T>();
  }
  template <class T>
  PD__LOCAL std::optional<T> TryGet() const {
    T value{};
    std::string why;
    bool read = IsOfType<T>() && !IsRetired() &&
                ::pd::absl_flags::parse_flag(CurrentValue(), &value, &why);
    return read ? std::optional<T>(std::move(value)) : std::nullopt;
  }
  /* Set it from text; returns false, and says why, if it can't have that value. */
  PD__LOCAL bool ParseFrom(string_view text, std::string *error) {
    pd_error err{};
    std::string copy(text.data(), text.size());
    if (pd_flag_set_from_string(flag_, copy.c_str(), &err) == PD_OK) return true;
    *error = err.message;
    return false;
  }

 private:
  pd_flag *flag_;
  const char *name_;
};

}  // namespace absl

namespace pd {
namespace absl_flags PD__LOCAL {

PD__LOCAL inline ::absl::CommandLineFlag *handle_of(pd_flag *flag) {
  static auto *known = new std::map<pd_flag *, ::absl::CommandLineFlag *>;
  static bool held = false; /* for one look at the map: <mutex> would cost each source file more */
  while (__atomic_test_and_set(&held, __ATOMIC_ACQUIRE)) {
  }
  ::absl::CommandLineFlag *&handle = (*known)[flag];
  if (!handle) handle = new ::absl::CommandLineFlag(flag);
  ::absl::CommandLineFlag *found = handle;
  __atomic_clear(&held, __ATOMIC_RELEASE);
  return found;
}

/* The flags that are defined. */
template <class Function>
PD__LOCAL void each_flag(Function function) {
  for (pd_flag *flag = nullptr; (flag = pd_flag_next(flag)) != nullptr;) function(flag);
}

}  // namespace absl_flags
}  // namespace pd

namespace absl {

/* NULL: there is no such flag. */
PD__LOCAL inline CommandLineFlag *FindCommandLineFlag(string_view name) {
  pd_flag *flag = nullptr;
  std::string copy(name.data(), name.size());
  if (pd_flag_find(copy.c_str(), &flag, nullptr) != PD_OK) return nullptr;
  return ::pd::absl_flags::handle_of(flag);
}

template <class T>
PD__LOCAL const CommandLineFlag &GetFlagReflectionHandle(const ::pd::absl_types::Flag<T> &flag) {
  flag.own();
  return *FindCommandLineFlag(flag.name);
}

/* Abseil's is an absl::flat_hash_map. */
PD__LOCAL inline std::map<string_view, CommandLineFlag *> GetAllFlags() {
  std::map<string_view, CommandLineFlag *> all;
  ::pd::absl_flags::each_flag([&all](pd_flag *flag) {
    CommandLineFlag *handle = ::pd::absl_flags::handle_of(flag);
    if (!handle->IsRetired()) all.emplace(handle->Name(), handle);
  });
  return all;
}

/* Keeps the values of all flags, and restores those that have changed when it ends. */
class FlagSaver {
 public:
  PD__LOCAL FlagSaver() {
    ::pd::absl_flags::each_flag([this](pd_flag *flag) {
      saved_[flag] = {::pd::inner::text_of(flag),
                      ::pd::absl_flags::info_of(flag).source == PD_SOURCE_DEFAULT};
    });
  }
  PD__LOCAL ~FlagSaver() {
    for (const auto &each : saved_) {
      bool is_default = ::pd::absl_flags::info_of(each.first).source == PD_SOURCE_DEFAULT;
      if (each.second.is_default && !is_default) {
        pd_flag_reset(each.first, nullptr);
      } else if (::pd::inner::text_of(each.first) != each.second.text) {
        pd_flag_set_from_string(each.first, each.second.text.c_str(), nullptr);
      }
    }
  }
  FlagSaver(const FlagSaver &) = delete;
  void operator=(const FlagSaver &) = delete;

 private:
  struct value {
    std::string text;
    bool is_default;
  };
  std::map<pd_flag *, value> saved_;
};

}  // namespace absl

#endif /* PD_FLAGS_ABSL_REFLECTION_HPP */
