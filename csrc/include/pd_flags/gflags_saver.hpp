/* Saves and restores all flags; and writes the flags as text. */
#ifndef PD_FLAGS_GFLAGS_SAVER_HPP
#define PD_FLAGS_GFLAGS_SAVER_HPP

#include <pd_flags/gflags_line.hpp>

namespace pd {
namespace gflags_detail PD__LOCAL {

/* The saved state of a flag. The registry's text stays valid. */
struct saved {
  handle flag;
  pd_type type;
  std::string text;
  std::string fallback;
  bool given;
  pd_origin origin;
  checker *check;
  void (*function)();
};

PD__LAZY std::string default_of(const handle &of) {
  if (of.own) return of.own->fallback;
  pd_flag_info info = info_of(of.flag);
  return detail::value_text(info.type, info.default_value);
}

template <class = void>
class state {
 public:
  PD__LOCAL state() : newest_(registered()) {
    checkers<> known;
    for (word &each : words()) save({nullptr, &each}, known);
    for (pd_flag *flag = nullptr; (flag = pd_flag_next(flag)) != nullptr;) {
      save({flag, nullptr}, known);
    }
  }

  /* Validators aren't asked about a restored value. */
  PD__LOCAL void restore() const {
    for (checker *each = registered(); each != newest_; each = each->next) {
      set_validator(*each, nullptr);
    }
    for (const saved &each : saved_) {
      if (each.check) each.check->function = nullptr;
    }
    for (const saved &each : saved_) {
      if (each.flag.own) {
        give_word(each.flag.own, each.text);
        each.flag.own->given = each.given;
        each.flag.own->fallback = each.fallback;
      } else {
        restore_flag(each);
      }
    }
    for (const saved &each : saved_) {
      if (each.check) set_validator(*each.check, each.function);
    }
  }

 private:
  PD__LOCAL void save(const handle &of, const checkers<> &known) {
    saved made = {of, type_of_flag(of), text_of(of, true), default_of(of), is_given(of), {},
                  nullptr, nullptr};
    pd_flag_entry entry = detail::sized<pd_flag_entry>();
    if (of.flag && pd_flag_get_entry(of.flag, 0, &entry, nullptr) == PD_OK) {
      made.origin = entry.origin;
    }
    if (of.flag) variable_of(of.flag, known, &made.check);
    if (made.check) made.function = made.check->function;
    saved_.push_back(made);
  }

  PD__LOCAL static void restore_flag(const saved &before) {
    pd_flag *flag = before.flag.flag;
    if (default_of(before.flag) != before.fallback) {
      pd_flag_set_default(flag, before.fallback.c_str(), nullptr);
    }
    if (!before.given) {
      if (is_given(before.flag)) pd_flag_reset(flag, nullptr);
      return;
    }
    bool above = pd_source_rank(info_of(flag).source) > pd_source_rank(before.origin.source);
    if (above) pd_flag_drop(flag, PD_SOURCE_LIVE, nullptr);
    if (above) pd_flag_drop(flag, PD_SOURCE_RUNTIME, nullptr);
    if (is_given(before.flag) && text_of(before.flag, true) == before.text) return;
    give(flag, before.text, before.origin, nullptr);
  }

  std::vector<saved> saved_;
  const checker *newest_; /* then */
};

PD__LAZY std::string to_lines(const std::vector<CommandLineFlagInfo> &flags,
                                      const char *except) {
  std::string text;
  for (const CommandLineFlagInfo &flag : flags) {
    if (flag.name != except) text += "--" + flag.name + "=" + flag.current_value + "\n";
  }
  return text;
}

PD__LAZY bool read_lines(const std::string &text, const char *path, bool fatal) {
  state<> before;
  reader<> reads(PD_SOURCE_RUNTIME);
  reads.read_text(text, path, gf::SET_FLAGS_VALUE);
  complete();
  show_what_was_asked_for();
  if (!reads.report()) return true;
  if (fatal) gf::gflags_exitfunc(1);
  before.restore();
  return false;
}

}  // namespace gflags_detail
}  // namespace pd

#endif /* PD_FLAGS_GFLAGS_SAVER_HPP */
