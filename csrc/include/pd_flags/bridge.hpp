/* What the bridges to other flag libraries share: how they find a library in the process, and how
 * they add its flags to the registry. For ELF systems, with libstdc++, whose std::string is that
 * of these libraries. */
#ifndef PD_FLAGS_BRIDGE_HPP
#define PD_FLAGS_BRIDGE_HPP

#include <pd_flags/names_push.h>

#if !defined(__ELF__)
#error "bridges to other flag libraries are for ELF systems, such as Linux"
#endif

#include <pd_flags.h>
#include <pd_flags/values.hpp>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace pd {
namespace bridge_detail PD__LOCAL {

/* ---- Finding a library ---- */

inline int add_path(dl_phdr_info *info, size_t, void *context) {
  static_cast<std::vector<std::string> *>(context)->push_back(info->dlpi_name);
  return 0;
}

using address_range = std::pair<uintptr_t, uintptr_t>;

inline int add_ranges(dl_phdr_info *info, size_t, void *context) {
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    uintptr_t low = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD) continue;
    static_cast<std::vector<address_range> *>(context)->emplace_back(low, low + part.p_memsz);
  }
  return 0;
}

/* The memory of all images, in order. */
inline std::vector<address_range> image_ranges() {
  std::vector<address_range> ranges;
  dl_iterate_phdr(add_ranges, &ranges);
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

inline bool is_within(const std::vector<address_range> &ranges, const void *address) {
  address_range wanted(reinterpret_cast<uintptr_t>(address), UINTPTR_MAX);
  auto after = std::upper_bound(ranges.begin(), ranges.end(), wanted);
  return after != ranges.begin() && wanted.first < (after - 1)->second;
}

/* Keeps the image that holds the address in the process. */
inline void keep(const void *address) {
  Dl_info here;
  if (!dladdr(address, &here) || !here.dli_fname) return;
  dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* The different addresses of a symbol that images of this process export, including images that
 * were loaded with RTLD_LOCAL. These images stay loaded. */
inline std::vector<void *> exported(const std::string &symbol) {
  std::vector<std::string> paths;
  std::vector<void *> found;
  dl_iterate_phdr(add_path, &paths);
  for (const std::string &path : paths) {
    void *image = dlopen(path.empty() ? nullptr : path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    void *address = image ? dlsym(image, symbol.c_str()) : nullptr;
    if (address && std::find(found.begin(), found.end(), address) == found.end()) {
      keep(address);
      found.push_back(address);
    }
    if (image) dlclose(image);
  }
  return found;
}

template <class Function>
Function function_at(void *address) {
  return reinterpret_cast<Function>(address);
}

/* The first exported function of this name, or NULL. */
template <class Function>
Function find_function(const std::string &symbol) {
  std::vector<void *> found = exported(symbol);
  return function_at<Function>(found.empty() ? nullptr : found[0]);
}

/* ---- A flag of another library ---- */

/* The context of its definition: freed only if the definition is refused. */
struct foreign {
  std::string name;     /* its library's name for it, below a namespace */
  std::string own_name; /* its library's name for it */
  std::string help;
  std::string file;     /* of its definition, or "" */
  std::string fallback; /* its library's default, as text */
  pd_type type;
  const void *key;              /* an address that its library has for it */
  void *cell;                   /* its variable, or what `access` takes for it */
  const pd_cell_access *access; /* NULL: the variable of a number */
  pd_validator validate;        /* NULL: its library has none */
  pd_watcher watch;
  const char *category;
  const char *module;  /* NULL: the image that holds the variable */
  bool is_default;     /* its value is the library's default */
  pd_origin origin;    /* of its value, if it is not */
  virtual ~foreign() {}

 protected:
  foreign()
      : type(PD_TYPE_bool), key(nullptr), cell(nullptr), access(nullptr), validate(nullptr), watch(nullptr),
        category(nullptr), module(nullptr), is_default(true),
        origin{PD_SOURCE_RUNTIME, 0, nullptr, 0} {}
};

/* A flag whose value is a plain variable, a std::string for text. */
struct plain : foreign {};

/* What a call to a bridge has done. */
struct outcome {
  size_t registries; /* of the library, found in this process */
  std::vector<std::string> joined;
  std::vector<std::string> known; /* flags that had already joined, even by a bridge elsewhere */
  std::vector<std::pair<std::string, std::string>> left_out; /* the flag, and the reason */
  std::vector<std::string> rejected; /* errors: pending values of flags that have joined */
  outcome() : registries(0) {}
  void leave_out(const std::string &name, const std::string &reason) {
    left_out.emplace_back(name, reason);
  }
};

/* True once the process ends: destructors of other libraries may have destroyed their strings. */
inline std::atomic<bool> &ended() {
  static std::atomic<bool> value(false);
  return value;
}

inline void end() { ended() = true; }

inline const char *text_get(void *cell) { return ended() ? nullptr : detail::string_get(cell); }

inline void text_put(void *cell, const char *text) {
  /* Whatever follows a NUL in the library's text isn't seen here, and stays. */
  if (ended() || std::strcmp(static_cast<std::string *>(cell)->c_str(), text) == 0) return;
  detail::string_put(cell, text);
}

static const pd_cell_access text_access __attribute__((unused)) = {
    sizeof(pd_cell_access), text_get, text_put, nullptr, nullptr};

template <class T>
void load_as(const void *cell, pd_value &value) {
  detail::put(value, *static_cast<const T *>(cell));
}

/* From the variable itself. */
inline bool load_plain(pd_type type, const void *cell, pd_value &value) {
  value = pd_value();
  if (type == PD_TYPE_string) {
    value.str = ended() ? nullptr : static_cast<const std::string *>(cell)->c_str();
    return value.str != nullptr;
  }
#define PD__BRIDGE_LOAD(name, number, ctype, member) \
  case PD_TYPE_##name: load_as<ctype>(cell, value); break;
  switch (type) { PD_TYPE_MAP(PD__BRIDGE_LOAD) }
#undef PD__BRIDGE_LOAD
  return true;
}

/* As if the program had assigned it: no validator is asked, no watcher notified. */
inline void store_plain(pd_type type, void *cell, const pd_value &value) {
  if (type == PD_TYPE_string) return text_put(cell, value.str);
#define PD__BRIDGE_STORE(name, number, ctype, member) \
  case PD_TYPE_##name: *static_cast<ctype *>(cell) = detail::value_type<ctype>::get(value); break;
  switch (type) { PD_TYPE_MAP(PD__BRIDGE_STORE) }
#undef PD__BRIDGE_STORE
}

inline bool load(const foreign &flag, pd_value &value) {
  if (flag.access && flag.type == PD_TYPE_string) {
    value.str = flag.access->get(flag.cell);
    return value.str != nullptr;
  }
  if (flag.access) return flag.access->load(flag.cell, &value);
  return load_plain(flag.type, flag.cell, value);
}

/* ---- Adding it to the registry ---- */

/* True if its library itself made the last change of the flag. */
inline bool is_theirs(const pd_flag *flag) {
  pd_flag_entry now = detail::sized<pd_flag_entry>();
  pd_flag_info info = detail::sized<pd_flag_info>();
  if (pd_flag_get_entry(flag, 0, &now, nullptr) != PD_OK || !now.origin.place) return false;
  if (now.origin.source != PD_SOURCE_RUNTIME || now.origin.line) return false;
  if (pd_flag_get_info(flag, &info, nullptr) != PD_OK || !info.module) return false;
  return std::strcmp(now.origin.place, info.module) == 0;
}

/* True if the flag of this name has this cell: another definition may have replaced it. */
inline bool has_cell(const std::string &name, const void *wanted) {
  pd_flag *flag = nullptr;
  pd_cell_info cell = detail::sized<pd_cell_info>();
  if (pd_flag_find(name.c_str(), &flag, nullptr) != PD_OK) return false;
  for (size_t i = 0; pd_flag_get_cell(flag, i, &cell, nullptr) == PD_OK; i++) {
    if (cell.address == wanted) return true;
  }
  return false;
}

/* The flags that have joined, by an address that their library has for them: another call may name
 * a namespace. */
struct joined_flags {
  struct row {
    std::string name;
    const void *cell;
  };
  std::mutex mutex;
  std::map<const void *, row> rows;
  static joined_flags &all() {
    static joined_flags *made = new joined_flags; /* threads may use it at the end */
    return *made;
  }
  void add(const void *theirs, const foreign &flag) {
    std::lock_guard<std::mutex> hold(mutex);
    rows[theirs] = row{flag.name, flag.cell};
  }
  row find(const void *theirs) {
    std::lock_guard<std::mutex> hold(mutex);
    auto found = rows.find(theirs);
    return found == rows.end() ? row{std::string(), nullptr} : found->second;
  }
};

/* True if the library's flag has joined, and its definition is still there. */
inline bool has_joined(const void *theirs, outcome &out) {
  joined_flags::row found = joined_flags::all().find(theirs);
  if (found.name.empty() || !has_cell(found.name, found.cell)) return false;
  out.known.push_back(found.name);
  return true;
}

/* The definition had the current value as its default, so that the variable kept that value. */
inline void settle(const foreign &theirs, pd_flag *flag, const std::string &text) {
  pd_flag_entry now = detail::sized<pd_flag_entry>();
  bool waited = pd_flag_get_entry(flag, 0, &now, nullptr) == PD_OK &&
                now.origin.source != PD_SOURCE_DEFAULT;
  pd_assignment given = {flag, text.c_str(), PD_TYPE_string, {}};
  if (theirs.is_default) return;
  /* Its library may have a value that its own validator rejects: that value is then the default. */
  if (!waited && pd_batch_set(&given, 1, &theirs.origin, nullptr, nullptr) != PD_OK) return;
  pd_flag_set_default(flag, theirs.fallback.c_str(), nullptr);
}

inline void join(std::unique_ptr<foreign> theirs, outcome &out) {
  pd_flag_def def;
  pd_flag *flag = nullptr;
  pd_error err;
  if (has_joined(theirs->key, out)) return;
  /* By a bridge in another module. */
  if (has_cell(theirs->name, theirs->cell)) return out.known.push_back(theirs->name);
  keep(theirs->cell); /* its library would point to nothing if the variable went */
  pd_flag_def_init(&def, sizeof def, theirs->type);
  if (!load(*theirs, def.default_value)) return;
  std::string text = detail::value_text(theirs->type, def.default_value);
  if (theirs->type == PD_TYPE_string) def.default_value.str = text.c_str();
  def.name = theirs->name.c_str();
  def.help = theirs->help.c_str();
  def.file = theirs->file.empty() ? nullptr : theirs->file.c_str();
  def.module = theirs->module;
  def.category = theirs->category;
  def.cell = theirs->cell;
  def.access = theirs->access;
  def.assignable = true;
  def.validate = theirs->validate;
  def.watch = theirs->watch;
  def.context = theirs.get();
  bool accepted = pd_flag_register(&def, &flag, &err) == PD_OK;
  if (!flag) return out.leave_out(theirs->name, err.message);
  if (!accepted) out.rejected.push_back(err.message);
  settle(*theirs, flag, text);
  joined_flags::all().add(theirs->key, *theirs);
  out.joined.push_back(theirs->name);
  theirs.release();
}

/* The registry calls code of this module, so it stays. */
inline void begin() { keep(reinterpret_cast<const void *>(&text_access)); }

/* This runs before the destructors of the flags found now. */
inline void finish(const outcome &out) {
  if (!out.joined.empty()) std::atexit(end);
}

/* What the public functions return. */
inline size_t report(const outcome &out, std::vector<std::string> *errors) {
  if (errors) {
    for (const auto &each : out.left_out) errors->push_back(each.second);
    errors->insert(errors->end(), out.rejected.begin(), out.rejected.end());
  }
  return out.joined.size();
}

}  // namespace bridge_detail
}  // namespace pd

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_BRIDGE_HPP */
