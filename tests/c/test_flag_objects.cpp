/* pd_flags.hpp: flags as objects of C++, with types, attributes, functions and threads.
 * Built with: -std=c++17
 * Also built with (tsan): -std=c++11 -fsanitize=thread -O1 $LIBRARY
 */
#include <pd_flags.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#endif

#define CHECK_DEFINES_FLAGS
#include "check.h"

/* Types of other people. */
namespace shapes {

struct point {
  int x, y;
};
static std::atomic<int> parsed;

bool pd_parse(const char *text, point &out, std::string &why);
bool pd_parse(const char *text, point &out, std::string &why) {
  parsed++;
  why = "expected x:y";
  return std::sscanf(text, "%d:%d", &out.x, &out.y) == 2;
}
std::string pd_format(const point &p);
std::string pd_format(const point &p) { return std::to_string(p.x) + ":" + std::to_string(p.y); }

enum class mode { fast, best };
pd::names<mode> pd_names(mode);
pd::names<mode> pd_names(mode) {
  static const pd::name<mode> all[] = {{"fast", mode::fast}, {"best", mode::best}};
  return all;
}

}  // namespace shapes

using std::chrono::milliseconds;
using std::chrono::seconds;
using strings = std::vector<std::string>;

static int changes;
static std::string last_text;

static pd::flag<bool> check{"o_check", false, "Check", pd::hidden};
static pd::flag<int> level{"o_level", 6, "Level", pd::range(1, 9), pd::category("Speed")};
static const uint32_t level_line = __LINE__ - 1;
static pd::flag<int8_t> tiny{"o_tiny", -7, "Tiny"};
static pd::flag<uint16_t> small{"o_small", 7, "Small", pd::at_most(200)};
static pd::flag<unsigned> plain{"o_plain", 7u, "Unsigned", pd::range(-1, 10)};
static pd::flag<long> whole{"o_whole", 7, "Long", pd::unit("bytes"), pd::at_least(0)};
static pd::flag<unsigned long long> huge{"o_huge", UINT64_MAX, "Huge"};
static pd::flag<double> rate{"o_rate", 0.5, "Rate", pd::range(0, 1)};
static pd::flag<float> ratio{"o_ratio", 0.25f, "Ratio"};
static pd::flag<const char *> raw{"o_raw", "raw", "Raw", pd::choices("raw|cooked")};
static pd::flag<std::string> title{
    "o_title",
    "abc",
    "Title",
    pd::validate([](const std::string &s) { return s.size() < 6; }, "expected up to 5 letters"),
    pd::watch([](const std::string &s) { last_text = s; }),
    pd::aliases("o_heading|o_head")};
static pd::flag<shapes::mode> mode{"o_mode", shapes::mode::fast, "Mode"};
static pd::flag<shapes::point> where{"o_where", shapes::point{1, 2}, "Where"};
static pd::flag<std::vector<int>> sizes{"o_sizes", {1, 2, 3}, "Sizes"};
static pd::flag<strings> paths{"o_paths", {"a", "b c", "d,e", "\"f"}, "Paths"};
static pd::flag<std::vector<shapes::mode>> modes{"o_modes", {}, "Modes"};
static pd::flag<std::vector<double>> weights{"o_weights", {0.1, 1e300, -2}, "Weights"};
static pd::flag<milliseconds> wait_for{"o_wait", milliseconds(290), "Wait",
                                       pd::range(milliseconds(1), seconds(5))};
static pd::flag<std::chrono::duration<double>> nap{"o_nap", seconds(2), "Nap"};
static pd::flag<int> even{"o_even",
                          2,
                          "Even",
                          pd::watch([] { changes++; }),
                          pd::validate([](int v, std::string &why) {
                            why = "expected an even number, not " + std::to_string(v);
                            return v % 2 == 0;
                          }),
                          pd::validate([](int v) { return v < 100; }, "expected less than 100")};
static pd::import <int> other{"o_other", 11};
static pd::import <shapes::point> elsewhere{"o_elsewhere", shapes::point{5, 6}};

static void check_refused(const pd::status &got, pd_status code, const char *message) {
  CHECK(!got.ok() && got.code() == code);
  CHECK_STR(got.message().c_str(), message);
}

TEST(objects_have_their_defaults_and_are_defined_before_main) {
  CHECK(!check && level == 6 && tiny == -7 && small == 7 && plain == 7u && whole == 7);
  CHECK(huge == UINT64_MAX && std::fabs(rate - 0.5) < 1e-9 && std::fabs(*ratio - 0.25f) < 1e-6f);
  CHECK(raw == "raw" && title == "abc" && mode == shapes::mode::fast);
  CHECK(where->x == 1 && where->y == 2 && sizes->size() == 3 && paths->at(2) == "d,e");
  CHECK(modes->empty() && wait_for.get() == milliseconds(290));
  CHECK(other == 11 && elsewhere->x == 5);
  CHECK(level.status().ok() && where.status().ok() && other.status().ok());
  pd_flag *flag;
  CHECK_OK(pd_flag_find("o_level", &flag, &err));
  CHECK(flag == level.handle());
}

TEST(a_value_from_text_reaches_every_type) {
  const char *texts[][3] = {{"o_check", "on", "true"},
                            {"o_tiny", "0x7f", "127"},
                            {"o_small", "200", "200"},
                            {"o_whole", "64KiB", "65536"},
                            {"o_huge", "1", "1"},
                            {"o_rate", "0.125", "0.125"},
                            {"o_ratio", "1e3", "1000"},
                            {"o_raw", "cooked", "cooked"},
                            {"o_mode", "best", "best"},
                            {"o_where", "-3:4", "-3:4"},
                            {"o_sizes", "0x10,-5", "0x10,-5"},
                            {"o_paths", "x,\"y,z\",", "x,\"y,z\","},
                            {"o_modes", "best,fast", "best,fast"},
                            {"o_weights", "0.5,-inf", "0.5,-inf"},
                            {"o_wait", "1.5s", "1.5"},
                            {"o_nap", "250us", "0.00025"}};
  for (auto &row : texts) {
    pd::status done = pd::set(row[0], row[1]);
    pd_flag *flag = nullptr;
    CHECK_STR(done.message().c_str(), "");
    CHECK_OK(pd_flag_find(row[0], &flag, &err));
    CHECK_STR(text_of(flag), row[2]);
  }
  CHECK(check && tiny == 127 && small == 200 && whole == 65536 && huge == 1u);
  CHECK(raw == "cooked" && mode == shapes::mode::best && where->x == -3 && where->y == 4);
  CHECK(sizes == (std::vector<int>{16, -5}) && paths == (strings{"x", "y,z", ""}));
  CHECK(modes->at(0) == shapes::mode::best && std::isinf(weights->at(1)));
  CHECK(wait_for.get() == milliseconds(1500) && std::fabs((*nap).count() - 0.00025) < 1e-12);
}

TEST(a_value_that_is_set_is_written_as_its_type_is) {
  CHECK(level.set(7).ok() && level.text() == "7");
  CHECK(rate.set(0.1).ok() && rate.text() == "0.1");
  CHECK(raw.set("cooked").ok() && raw.text() == "cooked");
  CHECK(title.set("xyz").ok() && title.text() == "xyz" && title->size() == 3);
  CHECK(mode.set(shapes::mode::best).ok() && mode.text() == "best");
  CHECK(where.set({7, 8}).ok() && where.text() == "7:8" && where->y == 8);
  CHECK(sizes.set({}).ok() && sizes.text() == "" && sizes->empty());
  CHECK(paths.set({""}).ok() && paths.text() == "\"\"" && paths == strings{""});
  CHECK(paths.set({" a", "b\"c"}).ok() && paths.text() == "\" a\",\"b\"\"c\"");
  CHECK(paths == (strings{" a", "b\"c"}));
  CHECK(weights.text() == "0.1,1e+300,-2" && weights->at(1) > 9e299);
  CHECK(wait_for.set(seconds(2)).ok() && wait_for.text() == "2");
  CHECK(wait_for.reset().ok() && wait_for.get() == milliseconds(290));
  std::string text(1000, 'x');
  CHECK(paths.set({text}).ok() && paths.text() == text);
}

TEST(what_does_not_suit_is_refused_with_what_was_expected) {
  check_refused(level.set(10), PD_ERR_RANGE, "o_level=10: expected an integer in [1, 9]");
  check_refused(tiny.set_text("128"), PD_ERR_RANGE,
                "o_tiny=128: expected an integer in [-128, 127]");
  check_refused(plain.set(11), PD_ERR_RANGE, "o_plain=11: expected an integer in [0, 10]");
  check_refused(raw.set("boiled"), PD_ERR_CHOICE, "o_raw=boiled: expected one of raw, cooked");
  check_refused(title.set("too long"), PD_ERR_REFUSED,
                "o_title=too long: expected up to 5 letters");
  check_refused(where.set_text("7"), PD_ERR_REFUSED, "o_where=7: expected x:y");
  check_refused(mode.set_text("slow"), PD_ERR_CHOICE, "o_mode=slow: expected one of fast, best");
  check_refused(wait_for.set(seconds(6)), PD_ERR_RANGE,
                "o_wait=6: expected a number of seconds in [0.001, 5]");
  check_refused(wait_for.set_text("1500us"), PD_ERR_REFUSED,
                "o_wait=0.0015: expected a multiple of 0.001s");
  check_refused(even.set(3), PD_ERR_REFUSED, "o_even=3: expected an even number, not 3");
  check_refused(even.set(102), PD_ERR_REFUSED, "o_even=102: expected less than 100");
  CHECK(level == 6 && where->x == 1 && even == 2 && changes == 0);
  CHECK(sizes.set_text("1,x").code() == PD_ERR_VALUE && modes.set_text("x").code() != PD_OK);
}

TEST(functions_are_told_of_changes_and_can_be_taken_back) {
  int told = 0, with = 0;
  pd::result<pd::hook> hook = even.on_change([&] { told++; });
  pd::result<pd::hook> second = even.on_change([&](int value) { with = value; });
  CHECK(hook.ok() && second.ok());
  CHECK(even.set(4).ok() && changes == 1 && told == 1 && with == 4);
  CHECK(hook->remove().ok() && !hook->remove().ok());
  CHECK(even.set(6).ok() && changes == 2 && told == 1 && with == 6);
  CHECK(second->remove().ok());
  CHECK(title.set("new").ok() && last_text == "new");
}

TEST(what_a_reference_shows_never_changes) {
  const shapes::point &before = *where;
  const strings &items = paths;
  CHECK(where.set({7, 8}).ok() && paths.set({"z"}).ok());
  CHECK(before.x == 1 && items.size() == 4 && where->x == 7 && paths->size() == 1);
  int count = shapes::parsed;
  for (int i = 0; i < 100; i++) {
    CHECK(where.set({1, 2}).ok() && where->x == 1);
    CHECK(where.set({7, 8}).ok() && where->x == 7);
  }
  CHECK(shapes::parsed - count <= 201); /* when it is checked, not when it is read */
}

TEST(a_definition_tells_where_it_stands_and_all_its_attributes) {
  pd_flag_info info = pd_flag_info();
  info.size = sizeof info;
  CHECK_OK(pd_flag_get_info(level.handle(), &info, &err));
  CHECK(info.line == level_line && std::strstr(info.file, "test_flag_objects.cpp"));
  CHECK(info.type == PD_TYPE_int32 && info.min.i64 == 1 && info.max.i64 == 9 && !info.hidden);
  CHECK_STR(info.category, "Speed");
  CHECK_STR(info.help, "Level");
  CHECK_OK(pd_flag_get_info(check.handle(), &info, &err));
  CHECK(info.hidden && info.type == PD_TYPE_bool);
  CHECK_OK(pd_flag_get_info(mode.handle(), &info, &err));
  CHECK_STR(info.choices, "fast|best");
  CHECK_OK(pd_flag_get_info(sizes.handle(), &info, &err));
  CHECK(info.list == PD_TYPE_int32);
  CHECK_OK(pd_flag_get_info(wait_for.handle(), &info, &err));
  CHECK_STR(info.unit, "seconds");
  pd_flag *flag = nullptr;
  CHECK_OK(pd_flag_find("o-heading", &flag, &err));
  CHECK(flag == title.handle());
}

TEST(every_attribute_is_taken) {
  static pd::flag<int> all{"o_all",
                           1,
                           "All",
                           pd::sensitive,
                           pd::experimental,
                           pd::startup_only,
                           pd::deprecated("Use o_level"),
                           pd::old_names("o_every")};
  static pd::flag<int> fixed{"o_fixed", 1, "Fixed", pd::read_only};
  static pd::flag<int> gone{"o_gone", 1, "Gone", pd::retired("No longer read")};
  static pd::flag<int> asked{"o_asked", 1, "Asked", pd::required};
  static pd::flag<int> live{"o_live", 1, "Live", pd::runtime, pd::unsafe, pd::per_process};
  pd_flag_info info = pd_flag_info();
  info.size = sizeof info;
  CHECK_OK(pd_flag_get_info(all.handle(), &info, &err));
  CHECK(info.sensitive && info.experimental && info.startup_only);
  CHECK_STR(info.deprecated, "Use o_level");
  CHECK_STR(info.old_names, "o_every");
  check_refused(fixed.set(2), PD_ERR_READ_ONLY, "o_fixed: is read-only");
  (void)gone.set(2);
  CHECK(gone == 1);
  CHECK_OK(pd_flag_get_info(asked.handle(), &info, &err));
  CHECK(info.required && !info.runtime && !info.unsafe && !info.per_process);
  CHECK_OK(pd_flag_get_info(live.handle(), &info, &err));
  CHECK(info.runtime && info.unsafe && info.per_process);
}

TEST(an_import_follows_the_flag_of_another_module) {
  CHECK(other.handle() == nullptr && other == 11);
  check_refused(other.set(1), PD_ERR_UNDEFINED, "no flag is named 'o_other'");
  pd_flag_def def = definition(PD_TYPE_int32, "o_other");
  pd_flag_def text = definition(PD_TYPE_string, "o_elsewhere");
  def.default_value.i64 = 3;
  text.default_value.str = "8:9";
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  CHECK_OK(pd_flag_register(&text, NULL, &err));
  CHECK(other == 3 && elsewhere->y == 9);
  CHECK(other.set(4).ok() && other == 4 && elsewhere.set({1, 1}).ok() && elsewhere->x == 1);
  CHECK(pd::set("o_elsewhere", "nonsense").ok()); /* its owner takes any text */
  CHECK(elsewhere->x == 5);
}

TEST(a_flag_is_found_by_its_name_and_type) {
  pd::result<pd::ref<int>> found = pd::find<int>("o_level");
  CHECK(found.ok() && found->get().value_or(0) == 6 && found->set(3).ok() && level == 3);
  CHECK(found->reset().ok() && found->text() == "6" && found->handle() == level.handle());
  CHECK(pd::find<shapes::point>("o_where")->get()->y == 2);
  check_refused(pd::find<double>("o_level").status(), PD_ERR_TYPE, "o_level: is int32, not double");
  check_refused(pd::find<int>("o_leve").status(), PD_ERR_UNDEFINED,
                "no flag is named 'o_leve'; did you mean 'o_level'?");
}

TEST(a_command_line_sets_them_and_all_its_errors_come_back) {
  char words[][24] = {"program", "--o_level=3", "--o_mode=best", "--o_wait=20ms", "argument"};
  char *argv[] = {words[0], words[1], words[2], words[3], words[4], NULL};
  int argc = 5;
  CHECK(pd::parse(argc, argv).ok() && argc == 2 && std::strcmp(argv[1], "argument") == 0);
  CHECK(level == 3 && mode == shapes::mode::best && wait_for.get() == milliseconds(20));
  char wrong[][24] = {"program", "--o_level=30", "--o_mode=x"};
  char *bad[] = {wrong[0], wrong[1], wrong[2], NULL};
  std::vector<pd::status> errors;
  argc = 3;
  CHECK(pd::parse(argc, bad, &errors).code() == PD_ERR_RANGE && errors.size() == 2);
  check_refused(errors[1], PD_ERR_CHOICE, "--o_mode=x: expected one of fast, best");
}

TEST(an_object_that_is_not_static_is_refused_and_keeps_its_value) {
  pd::flag<int> local{"o_local", 5, "On the stack"};
  check_refused(local.status(), PD_ERR_ARGUMENT,
                "o_local: is not a static object, as a flag must be");
  check_refused(local.set(6), PD_ERR_ARGUMENT,
                "o_local: is not a static object, as a flag must be");
  CHECK(local == 5);
  static pd::flag<int> later{"o_local", 7, "Constructed when control gets here"};
  CHECK(later.status().ok() && later.set(8).ok() && later == 8);
}

TEST(another_meaning_of_a_name_is_refused_alone_and_says_why) {
  static pd::flag<int> again{"o_level", 7, "Another meaning"};
  CHECK(again.status().code() == PD_ERR_CONFLICT && again == 7 && level == 6);
  CHECK(std::strstr(again.status().message().c_str(), "test_flag_objects.cpp"));
  CHECK(again.set(8).code() == PD_ERR_CONFLICT && level.set(8).ok() && again == 7);
}

TEST(exceptions_are_thrown_where_they_are_asked_for) {
  const char *said = "";
  try {
    level.set(10).or_throw();
  } catch (const pd::error &e) {
    said = e.code() == PD_ERR_RANGE ? "range" : e.what();
  }
  CHECK_STR(said, "range");
  CHECK(pd::find<int>("o_level").value_or_throw().get().value_or_throw() == 6);
  static pd::flag<int> strict{"o_strict", 1, "Strict", pd::validate([](int v) -> bool {
                                if (v > 1) throw std::out_of_range("expected the moon");
                                return true;
                              })};
  check_refused(strict.set(2), PD_ERR_REFUSED, "o_strict=2: expected the moon");
}

TEST(copies_of_a_status_and_its_exception_have_its_text) {
  pd::status kept = level.set(10), copy;
  std::string said = kept.message();
  copy = kept;
  kept = pd::status();
  CHECK(kept.ok() && kept.message().empty() && copy.message() == said && !said.empty());
  pd::status moved = std::move(copy);
  CHECK(moved.code() == PD_ERR_RANGE && moved.message() == said);
  try {
    moved.or_throw();
  } catch (const std::exception &e) {
    moved = pd::status();
    CHECK_STR(e.what(), said.c_str());
    said.clear();
  }
  CHECK(said.empty());
  pd::error made(PD_ERR_LOAD, std::string(1000, 'x'));
  CHECK(made.code() == PD_ERR_LOAD && made.what() == std::string(1000, 'x'));
}

TEST(names_and_texts_may_be_strings_literals_or_flags) {
  static pd::flag<std::string> word{"o_word", "best", "A word"};
  const std::string name = "o_mode", path = "/nowhere";
  char chars[] = "fast";
  CHECK(pd::set(name, word).ok() && mode == shapes::mode::best);
  CHECK(pd::set("o_mode", chars).ok() && mode == shapes::mode::fast);
  CHECK(mode.set_text(*word).ok() && pd::find<shapes::mode>(name)->get().value_or_throw() == mode);
  CHECK(!pd::load(path) && !pd::load(path, name));
  check_refused(pd::status(PD_ERR_VALUE, name + "!"), PD_ERR_VALUE, "o_mode!");
  check_refused(pd::status(PD_ERR_VALUE, "none"), PD_ERR_VALUE, "none");
}

#if __cplusplus >= 201703L
static pd::flag<std::optional<int>> maybe{"o_maybe", std::nullopt, "Maybe"};
static pd::flag<std::string_view> view{"o_view", "abc", "View"};
static pd::flag deduced{"o_deduced", 1.5, "Deduced"};

static void use_newer_types() {
  CHECK(!maybe->has_value() && maybe.set(5).ok() && maybe.text() == "5" && **maybe == 5);
  check_refused(maybe.set_text("5x"), PD_ERR_REFUSED, "o_maybe=5x: expected an integer");
  CHECK(maybe.set_text("").ok() && !maybe->has_value());
  std::string_view before = view;
  CHECK(view.set("longer text").ok() && view == "longer text" && before == "abc");
  static_assert(std::is_same_v<decltype(deduced), pd::flag<double>>);
  CHECK(deduced > 1.4 && deduced < 1.6);
}
#else
static void use_newer_types() {}
#endif

TEST(types_of_newer_standards_are_flags_and_are_deduced) { use_newer_types(); }

/* ---- Threads ---- */

static void in_threads(int count, const std::function<void(int)> &run) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back(run, i);
  for (std::thread &each : threads) each.join();
}

TEST(readers_of_objects_see_whole_values_while_others_set) {
  in_threads(4, [](int number) {
    for (int i = 0; i < 300; i++) {
      if (number < 2) CHECK(where.set({i % 50, 2 * (i % 50)}).ok());
      shapes::point now = where;
      CHECK(now.y == 2 * now.x);
      CHECK(paths->size() == 4 || paths->size() == 1);
      if (number == 2 && i % 50 == 0) CHECK(paths.set({std::to_string(i)}).ok());
    }
  });
}

template <int number>
static pd::flag<int> &numbered() {
  static const std::string name = "o_number_" + std::to_string(number);
  static pd::flag<int> flag{name.c_str(), number, "One of many"};
  return flag;
}
template <int number>
struct many {
  static void make(int thread) {
    CHECK(numbered<number>() >= number && numbered<number>().set(number + thread).ok());
    many<number - 1>::make(thread);
  }
};
template <>
struct many<0> {
  static void make(int) {}
};

TEST(flags_that_threads_construct_at_once_are_all_defined) {
  in_threads(4, many<20>::make);
  for (int i = 1; i <= 20; i++) {
    pd_flag *flag = nullptr;
    CHECK_OK(pd_flag_find(("o_number_" + std::to_string(i)).c_str(), &flag, &err));
    CHECK(numbered<7>().handle() != nullptr);
  }
}
