/* A bridge to a real gflags in the process: its flags, for example glog's, become flags of the
 * registry, where you can list, read and set them.
 *
 *     #include <gflags/gflags.h> // the real one, if this module has a copy of its own
 *     #define PD_HEADER_ONLY     // or link libpd_flags
 *     #include <pd_flags/bridge_gflags.hpp>
 *     static const size_t bridged = pd::bridge_gflags();
 *
 * It finds every gflags that an image of the process exports, and the one that this module sees if
 * gflags/gflags.h is included first. A copy of gflags in another module that hides it can't be
 * found.
 *
 * The variables are gflags' own, so both sides share one value. A value that the registry sets is
 * immediately in FLAGS_x. The registry adopts a value that gflags sets, or that the program
 * assigns, in its next call about the flag, as set at run time. To ask a gflags validator, the
 * bridge sets the flag in gflags and then restores it. Meanwhile, code that reads FLAGS_x on other
 * threads may see the new value, and the validator must not call the registry, because gflags holds
 * its lock. */
#ifndef PD_FLAGS_BRIDGE_GFLAGS_HPP
#define PD_FLAGS_BRIDGE_GFLAGS_HPP

#include <pd_flags/bridge.hpp>

#include <pd_flags/names_push.h>

#include <pd_flags/catching.hpp>
#include <pd_flags/gflags_word_map.h>

#ifdef PD_FLAGS_GFLAGS_DEFINE_HPP
#error "the bridge leads to a real gflags: take include/compat off the include path"
#endif

namespace pd {
namespace bridge_detail PD__LOCAL {

/* As in gflags 2.1 and later. */
struct gflags_info {
  std::string name;
  std::string type;
  std::string description;
  std::string current_value;
  std::string default_value;
  std::string filename;
  bool has_validator_fn;
  bool is_default;
  const void *flag_ptr;
};

/* The functions of one gflags. */
struct gflags_calls {
  void (*all)(std::vector<gflags_info> *);
  bool (*find)(const char *, gflags_info *);
  std::string (*set)(const char *, const char *);
};

struct gflags_flag : foreign {
  gflags_calls calls;

  /* Those with a validator, by their variables. */
  static std::map<const void *, const gflags_flag *> &all() {
    static auto *made = new std::map<const void *, const gflags_flag *>;
    return *made;
  }
  static std::mutex &mutex() {
    static std::mutex *made = new std::mutex;
    return *made;
  }
  static const gflags_flag *at(const void *cell) {
    std::lock_guard<std::mutex> hold(mutex());
    auto found = all().find(cell);
    return found == all().end() ? nullptr : found->second;
  }
  void list() const {
    std::lock_guard<std::mutex> hold(mutex());
    all()[cell] = this;
  }
  void unlist() const {
    std::lock_guard<std::mutex> hold(mutex());
    auto found = all().find(cell);
    if (found != all().end() && found->second == this) all().erase(found);
  }
  ~gflags_flag() override { unlist(); }
};

/* The pd_type for gflags' name of a type, or 0. */
inline uint8_t type_named(const std::string &name) {
#define PD__BRIDGE_TYPE(type, number, ctype, member) if (name == #type) return number;
  PD_TYPE_MAP(PD__BRIDGE_TYPE)
#undef PD__BRIDGE_TYPE
  return 0;
}

/* A flag whose validator is being asked, and its value meanwhile. */
struct gflags_trial {
  std::mutex asking;          /* one validator at a time */
  std::mutex mutex;           /* of what follows */
  const gflags_flag *flag;
  pd_value before;
  std::string text;           /* behind `before` */
  static gflags_trial &now() {
    static gflags_trial *made = new gflags_trial(); /* threads may use it at the end */
    return *made;
  }
  void set(const gflags_flag *asked) {
    std::lock_guard<std::mutex> hold(mutex);
    flag = asked;
  }
};

/* The value of a flag with a validator. While gflags has a value on trial in the flag, another
 * thread that reads it sees the earlier value. */
inline bool gflags_load(void *cell, pd_value *value) {
  gflags_trial &trial = gflags_trial::now();
  std::lock_guard<std::mutex> hold(trial.mutex);
  const gflags_flag *own = gflags_flag::at(cell);
  if (!own || ended()) return false;
  if (trial.flag != own) return load_plain(own->type, cell, *value);
  *value = trial.before;
  return true;
}
inline const char *gflags_get(void *cell) {
  pd_value value;
  return gflags_load(cell, &value) ? value.str : nullptr;
}
inline void gflags_store(void *cell, pd_value value) {
  const gflags_flag *own = gflags_flag::at(cell);
  if (own && !ended()) store_plain(own->type, cell, value);
}
inline void gflags_put(void *cell, const char *text) {
  if (gflags_flag::at(cell)) text_put(cell, text);
}
static const pd_cell_access gflags_access __attribute__((unused)) = {
    sizeof(pd_cell_access), gflags_get, gflags_put, gflags_load, gflags_store};

/* Ends the trial however the validator ends: it may throw. */
struct gflags_asking {
  explicit gflags_asking(const gflags_flag &flag) { gflags_trial::now().set(&flag); }
  ~gflags_asking() { gflags_trial::now().set(nullptr); }
  gflags_asking(const gflags_asking &) = delete;
  gflags_asking &operator=(const gflags_asking &) = delete;
};

inline bool gflags_accepts(const gflags_flag &flag, const pd_value &value) {
  gflags_info info;
  gflags_trial &trial = gflags_trial::now();
  std::lock_guard<std::mutex> hold(trial.asking);
  const char *name = flag.own_name.c_str();
  if (!flag.calls.find(name, &info) || !info.has_validator_fn) return true;
  if (!load_plain(flag.type, flag.cell, trial.before)) return true;
  trial.text = flag.type == PD_TYPE_string ? trial.before.str : "";
  if (flag.type == PD_TYPE_string) trial.before.str = trial.text.c_str();
  gflags_asking asking(flag);
  bool accepted = !flag.calls.set(name, detail::value_text(flag.type, value).c_str()).empty();
  if (accepted) store_plain(flag.type, flag.cell, trial.before);
  return accepted;
}

inline bool is_accepted(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  const gflags_flag &flag = *static_cast<const gflags_flag *>(context);
  return detail::ask_catching(why, size, [&] {
    if (gflags_accepts(flag, entries[0]->value)) return true;
    detail::write_why(why, size, "expected a value that its validator in gflags accepts");
    return false;
  });
}

/* gflags' built-in flags, which our command lines handle themselves. */
inline bool is_word(const std::string &name) {
#define PD__BRIDGE_WORD(kind, word, ...) if (name == #word) return true;
  PD__GFLAGS_WORD_MAP(PD__BRIDGE_WORD)
#undef PD__BRIDGE_WORD
  return false;
}

inline void add_gflags(const gflags_calls &calls, const std::string &name_space, outcome &out) {
  std::vector<gflags_info> all;
  out.registries++;
  calls.all(&all);
  for (const gflags_info &info : all) {
    uint8_t type = type_named(info.type);
    if (is_word(info.name) || !type || has_joined(info.flag_ptr, out)) continue;
    std::unique_ptr<gflags_flag> flag(new gflags_flag);
    flag->calls = calls;
    flag->name = name_space + info.name;
    flag->own_name = info.name;
    flag->help = info.description;
    flag->file = info.filename;
    flag->fallback = info.default_value;
    flag->type = static_cast<pd_type>(type);
    flag->key = info.flag_ptr;
    flag->cell = const_cast<void *>(info.flag_ptr);
    flag->access = type == PD_TYPE_string ? &text_access : nullptr;
    flag->validate = is_accepted;
    if (info.has_validator_fn) {
      flag->access = &gflags_access;
      flag->list();
    }
    flag->is_default = info.is_default;
    join(std::move(flag), out);
  }
}

/* The gflags of the image that exports GetAllFlags at this address. */
inline bool find_calls(void *all, const std::string &scope, gflags_calls *calls) {
  Dl_info here;
  void *image = dladdr(all, &here) ? dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!image) image = dlopen(nullptr, RTLD_LAZY);
  std::string text = "_ZN6" + scope;
  void *find = dlsym(image, (text + "22GetCommandLineFlagInfoEPKcPNS_19CommandLineFlagInfoE").c_str());
  void *set = dlsym(image, (text + "20SetCommandLineOptionB5cxx11EPKcS1_").c_str());
  calls->all = function_at<decltype(calls->all)>(all);
  calls->find = function_at<decltype(calls->find)>(find);
  calls->set = function_at<decltype(calls->set)>(set);
  if (image) dlclose(image);
  return find && set;
}

inline outcome gflags_flags(const std::string &name_space = "",
                            const gflags_calls *own = nullptr) {
  static const char all[] = "11GetAllFlagsEPSt6vectorINS_19CommandLineFlagInfoESaIS1_EE";
  outcome out;
  begin();
  if (own) add_gflags(*own, name_space, out);
  for (const char *scope : {"google", "gflags"}) {
    for (void *each : exported(std::string("_ZN6") + scope + all)) {
      gflags_calls calls;
      if (own && each == reinterpret_cast<void *>(own->all)) continue;
      if (find_calls(each, scope, &calls)) add_gflags(calls, name_space, out);
    }
  }
  finish(out);
  return out;
}

#ifdef GFLAGS_GFLAGS_H_
/* The gflags that this module sees, which need not be exported. */
inline const gflags_calls *own_gflags() {
  using theirs = ::GFLAGS_NAMESPACE::CommandLineFlagInfo;
  static_assert(sizeof(theirs) == sizeof(gflags_info) &&
                    offsetof(theirs, flag_ptr) == offsetof(gflags_info, flag_ptr),
                "this gflags describes its flags in another way: expected 2.1 or later");
  static const gflags_calls calls = {
      reinterpret_cast<decltype(gflags_calls::all)>(&::GFLAGS_NAMESPACE::GetAllFlags),
      reinterpret_cast<decltype(gflags_calls::find)>(&::GFLAGS_NAMESPACE::GetCommandLineFlagInfo),
      &::GFLAGS_NAMESPACE::SetCommandLineOption};
  return &calls;
}
#else
inline const gflags_calls *own_gflags() { return nullptr; }
#endif

}  // namespace bridge_detail

/* Registers those flags of the real gflags that aren't registered yet, and returns their number.
 * Call it again after loading libraries with more flags. `name_space`, such as "glog.", is put
 * before their names. `errors` (NULL allowed) receives an error for each flag that was refused
 * because its name is taken, and for each rejected pending value. */
PD__LOCAL inline size_t bridge_gflags(std::vector<std::string> *errors = nullptr,
                                      const std::string &name_space = "") {
  return bridge_detail::report(
      bridge_detail::gflags_flags(name_space, bridge_detail::own_gflags()), errors);
}

}  // namespace pd

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_BRIDGE_GFLAGS_HPP */
