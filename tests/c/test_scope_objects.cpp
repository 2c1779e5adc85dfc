/* pd_flags/scope.hpp and FLAGS_x of scoped flags in C++.
 * Built with: -std=c++17
 * Also built with (tsan): -std=c++11 -fsanitize=thread -O1 $LIBRARY
 */
#include <pd_flags.hpp>

#include <future>
#include <string>
#include <thread>

#define CHECK_DEFINES_FLAGS
#include "check.h"

PD_DEFINE_SCOPED_bool(on, false, "A bool");
PD_DEFINE_SCOPED_int32(level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_SCOPED_uint32(count, 7, "A uint32");
PD_DEFINE_SCOPED_int64(wide, 8, "An int64");
PD_DEFINE_SCOPED_uint64(size, 9, "A size");
PD_DEFINE_SCOPED_double(rate, 0.5, "A double");
PD_DEFINE_SCOPED_string(mode, "fast", "How to search", .choices = "fast|best");
PD_DEFINE_string(title, "fast", "Not scoped");

TEST(a_scoped_flag_is_used_as_other_flags_are) {
  int level = FLAGS_level;
  CHECK(level == 6 && FLAGS_level.get() == 6 && PD_SCOPED(level) == 6);
  CHECK(!FLAGS_on && FLAGS_level > 5 && FLAGS_level + 1 == 7 && FLAGS_rate < 1);
  CHECK(FLAGS_mode == "fast" && "best" != FLAGS_mode && FLAGS_mode == std::string("fast"));
  CHECK(std::string("fast") == FLAGS_mode && FLAGS_mode == FLAGS_title &&
        FLAGS_title == FLAGS_mode);
  std::string text = FLAGS_mode.get();
  CHECK(text == "fast");
}

TEST(a_guard_gives_a_value_until_its_block_ends) {
  {
    pd::scoped_value on{FLAGS_on, true}, level{FLAGS_level, 9}, count{FLAGS_count, 10};
    pd::scoped_value wide{FLAGS_wide, -5}, size{FLAGS_size, 64u}, rate{FLAGS_rate, 1};
    pd::scoped_value mode{FLAGS_mode, std::string("best")};
    CHECK(FLAGS_on && FLAGS_level == 9 && FLAGS_count == 10u && FLAGS_wide == -5);
    CHECK(FLAGS_size == 64u && FLAGS_rate > 0.99 && FLAGS_mode == "best");
    int elsewhere = 0;
    std::thread([&] { elsewhere = FLAGS_level; }).join();
    CHECK(elsewhere == 6);
  }
  CHECK(!FLAGS_on && FLAGS_level == 6 && FLAGS_count == 7u && FLAGS_wide == 8);
  CHECK(FLAGS_size == 9u && FLAGS_rate < 0.51 && FLAGS_mode == "fast");
}

TEST(a_refused_value_throws_or_writes_a_status) {
  bool thrown = false;
  try {
    pd::scoped_value guard{FLAGS_level, 10};
  } catch (const pd::error &why) {
    thrown = why.code() == PD_ERR_RANGE;
    CHECK(strstr(why.what(), "test_scope_objects.cpp:"));
    CHECK(strstr(why.what(), ": level=10: expected an integer in [1, 9]"));
  }
  CHECK(thrown);
  pd::status why;
  pd::scoped_value guard{FLAGS_level, 10, &why};
  CHECK(why.code() == PD_ERR_RANGE && FLAGS_level == 6);
}

TEST(a_value_is_never_cut) {
  pd::status why;
  {
    pd::scoped_value guard{FLAGS_level, (int64_t{1} << 32) + 5, &why};
    CHECK(!why.ok() && FLAGS_level == 6);
    CHECK(strstr(why.message().c_str(), ": level=4294967301: expected an integer in [1, 9]"));
  }
  {
    pd::scoped_value guard{FLAGS_count, -1, &why};
    CHECK(!why.ok() && FLAGS_count == 7u);
  }
  pd::scoped_value guard{FLAGS_wide, UINT64_MAX, &why};
  CHECK(!why.ok() && FLAGS_wide == 8);
}

TEST(the_place_of_a_guard_is_in_the_history) {
  pd_flag_entry entry = pd_flag_entry();
  entry.size = sizeof entry;
  pd::scoped_value guard{FLAGS_level, 9};
  uint32_t line = __LINE__ - 1;
  CHECK_OK(pd_flag_get_entry(FLAGS_level.handle(), 0, &entry, &err));
  CHECK(entry.origin.line == line && strstr(entry.origin.place, "test_scope_objects.cpp"));
}

TEST(captured_scopes_run_functions_on_other_threads) {
  pd::scope_capture nothing;
  pd::scoped_value guard{FLAGS_level, 9};
  pd::scope_capture context;
  auto read = [] { return FLAGS_level.get(); };
  auto later = std::async(std::launch::async, [context, read] { return context.run(read); });
  CHECK(later.get() == 9);
  CHECK(nothing.run(read) == 6 && read() == 9);
  int seen = 0;
  std::thread([&] {
    pd::scope_attach attached(context);
    pd::scoped_value inner{FLAGS_level, 8};
    seen = FLAGS_level;
  }).join();
  CHECK(seen == 8 && read() == 9);
  nothing = context;
  CHECK(nothing.run(read) == 9);
}

TEST(a_captured_context_outlives_the_scope) {
  pd::scope_capture context;
  {
    pd::scoped_value guard{FLAGS_mode, "best"};
    context = pd::scope_capture();
  }
  CHECK(FLAGS_mode == "fast");
  CHECK(context.run([] { return FLAGS_mode == "best"; }));
}
