/* A bridge to Abseil's C++ flags: those of ABSL_FLAG become flags of the registry, where you can
 * list, read, set and watch them.
 *
 *     #define PD_HEADER_ONLY // or link libpd_flags
 *     #include <pd_flags/bridge_abseil.hpp>
 *     size_t bridged = pd::bridge_abseil();
 *
 * It finds any version of Abseil in the process, in any number of copies, by the exported symbols:
 * nothing of Abseil is included or linked. Numbers, bools and strings keep their types; flags of
 * another type (absl::Duration, a list, an enum) are text, which Abseil checks.
 *
 * The value is in Abseil's flag. When a call that sets a value in the registry returns, Abseil's
 * flag has it, and Abseil's callbacks have run. The registry adopts a value that Abseil sets in its
 * next call about the flag, as set at run time. Any thread may call this function. */
#ifndef PD_FLAGS_BRIDGE_ABSEIL_HPP
#define PD_FLAGS_BRIDGE_ABSEIL_HPP

#include <pd_flags/bridge.hpp>

#include <pd_flags/names_push.h>

#include <pd_flags/catching.hpp>

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace pd {
namespace bridge_detail PD__LOCAL {

/* ---- Abseil's functions ---- */

/* absl::string_view or std::string_view: two words, whose order differs. */
struct text_view {
  uintptr_t words[2];
};

/* An absl::CommandLineFlag. */
struct absl_opaque;

/* Those of one Abseil. `flag` is an absl::CommandLineFlag, which is a FlagImpl. */
struct absl_calls {
  bool pointer_first; /* in a text_view */
  const void *table;  /* the first function in FlagImpl's vtable */
  void (*for_each)(std::function<void(absl_opaque &)>);
  text_view (*name)(const void *flag);
  std::string (*file)(const void *flag);
  std::string (*help)(const void *flag);
  std::string (*fallback)(const void *flag);
  std::string (*current)(const void *flag);
  const void *(*type)(const void *flag);
  void (*read)(const void *flag, void *out);
  bool (*accepts)(const void *flag, text_view);
  bool (*parse)(void *flag, text_view, std::string *error);
};

inline text_view view_of(const absl_calls &calls, const char *text) {
  uintptr_t first = reinterpret_cast<uintptr_t>(text), length = std::strlen(text);
  return calls.pointer_first ? text_view{{first, length}} : text_view{{length, first}};
}

inline std::string text_of(const absl_calls &calls, text_view view) {
  size_t first = calls.pointer_first ? 0 : 1;
  return std::string(reinterpret_cast<const char *>(view.words[first]), view.words[1 - first]);
}

/* ---- Finding it ---- */

static const char absl_for_each[] = "14flags_internal11ForEachFlagESt8functionIFvR";

/* Adds the scope of each Abseil that an image exports, "_ZN4absl12lts_20240722", from the names of
 * its symbols. */
inline int add_scopes(dl_phdr_info *info, size_t, void *context) {
  const char *names = nullptr, *found;
  size_t size = 0;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (auto *each = reinterpret_cast<const ElfW(Dyn) *>(at); each->d_tag; each++) {
      if (each->d_tag == DT_STRSZ) size = each->d_un.d_val;
      /* glibc stores an address here, musl an offset. */
      if (each->d_tag != DT_STRTAB) continue;
      uintptr_t where = each->d_un.d_ptr;
      names = reinterpret_cast<const char *>(where < info->dlpi_addr ? where + info->dlpi_addr
                                                                      : where);
    }
  }
  while (names && (found = static_cast<const char *>(
                       memmem(names, size, absl_for_each, sizeof absl_for_each - 1)))) {
    const char *first = found;
    while (first > names && first[-1]) first--;
    std::string scope(first, found);
    if (std::strncmp(scope.c_str(), "_ZN4absl", 8) == 0) {
      static_cast<std::set<std::string> *>(context)->insert(scope);
    }
    size -= static_cast<size_t>(found + 1 - names);
    names = found + 1;
  }
  return 0;
}

/* Finds the functions of the Abseil of this scope whose ForEachFlag is at the address. */
class absl_finder {
 public:
  absl_finder(const std::string &scope, void *for_each)
      : scope_(scope), inner_(scope_.c_str() + 3) {
    Dl_info here;
    bool named = dladdr(for_each, &here) && here.dli_fname;
    image_ = named ? dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (!image_) image_ = dlopen(nullptr, RTLD_LAZY);
  }
  ~absl_finder() {
    if (image_) dlclose(image_);
  }
  absl_finder(const absl_finder &) = delete;
  absl_finder &operator=(const absl_finder &) = delete;

  /* A symbol of this image, of one that it needs, or of another: Abseil may be many libraries. */
  void *find(const std::string &symbol) const {
    void *address = image_ ? dlsym(image_, symbol.c_str()) : nullptr;
    std::vector<void *> others;
    if (!address) others = exported(symbol);
    return others.empty() ? address : others[0];
  }

  /* A function of FlagImpl. */
  template <class Function>
  bool method(const char *rest, Function *out) const {
    std::string symbol = std::string("_ZNK") + inner_ + "14flags_internal8FlagImpl" + rest;
    *out = function_at<Function>(find(symbol));
    return *out != nullptr;
  }

  /* Returns false if one of them is missing. */
  bool fill(absl_calls *calls) const {
    std::string vtable = std::string("_ZTVN") + inner_ + "14flags_internal8FlagImplE";
    auto *table = static_cast<const char *>(find(vtable));
    calls->table = table ? table + 2 * sizeof(void *) : nullptr;
    return table && fill_setters(calls) && method("4NameEv", &calls->name) &&
           method("8FilenameB5cxx11Ev", &calls->file) && method("4HelpB5cxx11Ev", &calls->help) &&
           method("12DefaultValueB5cxx11Ev", &calls->fallback) &&
           method("12CurrentValueB5cxx11Ev", &calls->current) &&
           method("6TypeIdEv", &calls->type) && method("4ReadEPv", &calls->read);
  }

  /* The letter that the symbols of C++ have for the type of a number, 'S' for a std::string, or 0. */
  char kind_of(const void *id) const {
    static const char text[] = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
    const std::string tag = scope_ + "13base_internal11FastTypeTagI";
    for (const char *rest : {"E9dummy_varE", "E9kDummyVarE"}) {
      if (find(tag + text + rest) == id) return 'S';
      for (const char *letter = "bstijlmxyfd"; *letter; letter++) {
        if (find(tag + *letter + rest) == id) return *letter;
      }
    }
    return 0;
  }

 private:
  /* Their symbols have the type of a text_view: absl::string_view or std::string_view. S3_ and S4_
   * stand for char_traits<char>, below absl and below an inline namespace. */
  bool fill_setters(absl_calls *calls) const {
    static const char accepts[] = "18ValidateInputValueE", parse[] = "15CommandLineFlag9ParseFromE";
    static const char theirs[] = "St17basic_string_viewIcSt11char_traitsIcEE";
    static const char text[] = "PNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
    bool flat = scope_ == "_ZN4absl";
    std::string own = flat ? "NS_11string_viewE" : "NS0_11string_viewE";
    std::string traits = flat ? "S3_" : "S4_";
    calls->pointer_first = method((accepts + own).c_str(), &calls->accepts);
    if (!calls->pointer_first && !method((accepts + std::string(theirs)).c_str(), &calls->accepts)) {
      return false;
    }
    std::string rest = calls->pointer_first
                           ? own + text
                           : theirs + ("PNSt7__cxx1112basic_stringIc" + traits) + "SaIcEEE";
    calls->parse = function_at<decltype(calls->parse)>(find(scope_ + parse + rest));
    return calls->parse != nullptr;
  }

  std::string scope_; /* _ZN4absl12lts_20240722 */
  const char *inner_; /* 4absl12lts_20240722 */
  void *image_;
};

/* ---- A flag ---- */

struct absl_flag : foreign {
  const absl_calls *calls;
  void *flag;
  char kind;          /* of absl_finder::kind_of */
  std::string path;   /* of the image that has the flag */
  std::mutex mutex;   /* of what follows */
  std::string seen;   /* the text that the registry is reading */
  std::string wanted; /* what the registry has set last, as text */
  pd_value value;     /* and as a value, but for text */
  std::string became; /* what Abseil shows for it: 1m for 60s */
  enum { untouched, waits, done } stage; /* `wanted` isn't yet, or is, in Abseil's flag */
};

template <class T>
bool read_as(const absl_flag &own, pd_value *value) {
  T read = T();
  own.calls->read(own.flag, &read);
  switch (own.type) {
    case PD_TYPE_bool: value->b = read != T(); break;
    case PD_TYPE_int32:
    case PD_TYPE_int64: value->i64 = static_cast<int64_t>(read); break;
    case PD_TYPE_uint32:
    case PD_TYPE_uint64: value->u64 = static_cast<uint64_t>(read); break;
    default: value->f64 = static_cast<double>(read);
  }
  return true;
}

inline bool absl_read(absl_flag &own, pd_value *value) {
  switch (own.kind) {
    case 'b': return read_as<bool>(own, value);
    case 's': return read_as<short>(own, value);
    case 't': return read_as<unsigned short>(own, value);
    case 'i': return read_as<int>(own, value);
    case 'j': return read_as<unsigned>(own, value);
    case 'l': return read_as<long>(own, value);
    case 'm': return read_as<unsigned long>(own, value);
    case 'x': return read_as<long long>(own, value);
    case 'y': return read_as<unsigned long long>(own, value);
    case 'f': return read_as<float>(own, value);
    case 'd': return read_as<double>(own, value);
    default: own.seen = own.calls->current(own.flag); value->str = own.seen.c_str();
  }
  return true;
}

/* True if Abseil's flag has, or is about to have, what the registry has set last. */
inline bool is_wanted(const absl_flag &own) {
  if (own.stage != absl_flag::done) return own.stage == absl_flag::waits;
  return own.calls->current(own.flag) == own.became;
}

/* The registry reads and writes with its lock held. Setting Abseil's flag runs its callbacks, so
 * that waits for the watcher, which has no lock; meanwhile the flag reads as what was wanted. */
inline bool absl_load(void *cell, pd_value *value) {
  absl_flag &own = *static_cast<absl_flag *>(cell);
  std::lock_guard<std::mutex> hold(own.mutex);
  if (ended()) return false;
  if (!is_wanted(own)) return absl_read(own, value);
  own.seen = own.wanted;
  *value = own.value;
  if (own.type == PD_TYPE_string) value->str = own.seen.c_str();
  return true;
}

inline void absl_store(void *cell, pd_value value) {
  absl_flag &own = *static_cast<absl_flag *>(cell);
  std::lock_guard<std::mutex> hold(own.mutex);
  std::string text = detail::value_text(own.type, value);
  pd_value now = pd_value();
  if (is_wanted(own) ? own.wanted == text
                     : absl_read(own, &now) && detail::value_text(own.type, now) == text) {
    return;
  }
  own.wanted = text;
  own.value = value;
  own.stage = absl_flag::waits;
}

inline const char *absl_get(void *cell) {
  pd_value value;
  return absl_load(cell, &value) ? value.str : nullptr;
}

inline void absl_put(void *cell, const char *text) {
  pd_value value;
  value.str = text;
  absl_store(cell, value);
}

static const pd_cell_access absl_access __attribute__((unused)) = {
    sizeof(pd_cell_access), absl_get, absl_put, absl_load, absl_store};

inline bool take_wanted(absl_flag &own, std::string *text) {
  std::lock_guard<std::mutex> hold(own.mutex);
  *text = own.wanted;
  return own.stage == absl_flag::waits && !ended();
}

/* The flags that a thread is setting in Abseil, innermost first. */
struct absl_push {
  const absl_flag *flag;
  const absl_push *outer;
  static const absl_push *&innermost() {
    static thread_local const absl_push *top = nullptr;
    return top;
  }
  explicit absl_push(const absl_flag &own) : flag(&own), outer(innermost()) { innermost() = this; }
  ~absl_push() { innermost() = outer; }
  absl_push(const absl_push &) = delete;
  absl_push &operator=(const absl_push &) = delete;
};

inline bool is_pushing(const absl_flag &own) {
  const absl_push *each = absl_push::innermost();
  while (each && each->flag != &own) each = each->outer;
  return each != nullptr;
}

/* True if Abseil may show what was set in another way: 1m for 60s, a float with other digits. Other
 * types show it as it is, so what they show is their value. */
inline bool is_rewritten(const absl_flag &own) {
  if (own.kind != 'f') return own.kind == 0;
  float now = 0;
  own.calls->read(own.flag, &now);
  return !(now < static_cast<float>(own.value.f64)) && !(now > static_cast<float>(own.value.f64));
}

/* An exception of a callback becomes a warning: the value is set. */
inline void absl_set(const absl_flag &own, const std::string &text) {
  char what[256];
  pd_error told;
  bool done = detail::ask_catching(what, sizeof what, [&] {
    std::string error;
    own.calls->parse(own.flag, view_of(*own.calls, text.c_str()), &error);
    return true;
  });
  if (done) return;
  std::snprintf(told.message, sizeof told.message, "%s: its callback in Abseil threw: %s",
                own.name.c_str(), what);
  pd_warning_report(told.message, nullptr);
}

/* A callback of Abseil that sets its own flag calls this function again, while Abseil has the
 * flag's callback locked: the value is set when the callback has returned. */
inline void absl_watch(pd_flag *, void *context) {
  absl_flag &own = *static_cast<absl_flag *>(context);
  std::string text;
  if (is_pushing(own)) return;
  absl_push push(own);
  while (take_wanted(own, &text)) {
    absl_set(own, text);
    std::string became = own.calls->current(own.flag);
    std::lock_guard<std::mutex> hold(own.mutex);
    if (own.wanted != text) continue; /* another thread, or a callback, has set it */
    own.became = became;
    own.stage = is_rewritten(own) ? absl_flag::done : absl_flag::untouched;
  }
}

inline bool absl_accepts(const pd_flag_entry *const *entries, void *context, char *why,
                         size_t size) {
  const absl_flag &own = *static_cast<const absl_flag *>(context);
  std::string text = detail::value_text(own.type, entries[0]->value);
  return detail::ask_catching(why, size, [&] {
    if (own.calls->accepts(own.flag, view_of(*own.calls, text.c_str()))) return true;
    detail::write_why(why, size, "expected a value that Abseil accepts");
    return false;
  });
}

inline pd_type absl_type(char kind) {
  switch (kind) {
    case 'b': return PD_TYPE_bool;
    case 's': case 't': case 'i': return PD_TYPE_int32;
    case 'j': return PD_TYPE_uint32;
    case 'l': return sizeof(long) == 8 ? PD_TYPE_int64 : PD_TYPE_int32;
    case 'm': return sizeof(long) == 8 ? PD_TYPE_uint64 : PD_TYPE_uint32;
    case 'x': return PD_TYPE_int64;
    case 'y': return PD_TYPE_uint64;
    case 'f': case 'd': return PD_TYPE_double;
    default: return PD_TYPE_string;
  }
}

/* Abseil's own flags for command lines, which our command lines handle themselves. */
inline bool is_abseils(const std::string &file) {
  return file.find("absl/flags/") != std::string::npos;
}

inline void add_absl_flag(const absl_finder &finder, const absl_calls *calls, void *theirs,
                          const std::string &name_space, outcome &out) {
  if (*static_cast<const void *const *>(theirs) != calls->table) return; /* a retired flag */
  std::string file = calls->file(theirs);
  std::unique_ptr<absl_flag> flag(new absl_flag);
  Dl_info here;
  if (is_abseils(file) || has_joined(theirs, out)) return;
  keep(theirs);
  flag->calls = calls;
  flag->flag = theirs;
  flag->kind = finder.kind_of(calls->type(theirs));
  flag->path = dladdr(theirs, &here) && here.dli_fname ? here.dli_fname : "";
  flag->stage = absl_flag::untouched;
  flag->own_name = text_of(*calls, calls->name(theirs));
  flag->name = name_space + flag->own_name;
  flag->help = calls->help(theirs);
  flag->file = file;
  flag->fallback = calls->fallback(theirs);
  flag->type = absl_type(flag->kind);
  flag->key = theirs;
  flag->cell = flag.get();
  flag->access = &absl_access;
  flag->validate = absl_accepts;
  flag->watch = absl_watch;
  flag->module = flag->path.empty() ? nullptr : flag->path.c_str();
  flag->is_default = calls->current(theirs) == flag->fallback;
  join(std::move(flag), out);
}

/* The functions of the Abseil whose ForEachFlag is at the address, or NULL. Kept for its flags. */
inline const absl_calls *calls_of(const absl_finder &finder, void *for_each) {
  static std::mutex mutex;
  static std::map<void *, std::unique_ptr<absl_calls>> known;
  std::lock_guard<std::mutex> hold(mutex);
  std::unique_ptr<absl_calls> &calls = known[for_each];
  if (calls) return calls.get();
  calls.reset(new absl_calls());
  calls->for_each = function_at<decltype(calls->for_each)>(for_each);
  if (!finder.fill(calls.get())) calls.reset();
  return calls.get();
}

inline void add_abseil(const std::string &scope, void *for_each, const std::string &name_space,
                       outcome &out) {
  absl_finder finder(scope, for_each);
  const absl_calls *calls = calls_of(finder, for_each);
  std::vector<void *> flags;
  out.registries++;
  if (!calls) {
    out.leave_out("*", "this version of Abseil stores its flags in another way");
    return;
  }
  /* Abseil's registry is locked within: only collect. */
  calls->for_each([&flags](absl_opaque &flag) { flags.push_back(&flag); });
  for (void *flag : flags) add_absl_flag(finder, calls, flag, name_space, out);
}

inline outcome abseil_flags(const std::string &name_space = "") {
  std::set<std::string> scopes;
  outcome out;
  begin();
  dl_iterate_phdr(add_scopes, &scopes);
  for (const std::string &scope : scopes) {
    /* NS0_ stands for the inline namespace, NS_ for absl itself. */
    std::string type = scope == "_ZN4absl" ? "NS_" : "NS0_";
    for (void *each : exported(scope + absl_for_each + type + "15CommandLineFlagEEE")) {
      add_abseil(scope, each, name_space, out);
    }
  }
  finish(out);
  return out;
}

}  // namespace bridge_detail

/* Registers those flags of Abseil that aren't registered yet, and returns their number: 0 if no
 * Abseil is found. Call it again after loading libraries with more flags. `name_space`, such as
 * "absl.", is put before their names. `errors` (NULL allowed) receives an error for each flag that
 * was refused because its name is taken, and for each rejected pending value. */
PD__LOCAL inline size_t bridge_abseil(std::vector<std::string> *errors = nullptr,
                                      const std::string &name_space = "") {
  return bridge_detail::report(bridge_detail::abseil_flags(name_space), errors);
}

}  // namespace pd

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_BRIDGE_ABSEIL_HPP */
