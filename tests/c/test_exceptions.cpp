/* C++ exceptions out of validators, watchers and writers: they come through to whoever made the
 * call, and nothing of it stays. */
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "check.h"

static pd_flag *flag;
static int told;

static bool throws(const pd_flag_entry *const *entries, void *, char *, size_t) {
  if (entries[0]->value.i64 == 13) throw std::runtime_error("thirteen");
  return true;
}

static void throws_as_well(pd_flag *changed, void *) {
  int64_t value = 0;
  CHECK_OK(pd_flag_get_int64(changed, &value, &err));
  if (value == 13) throw std::runtime_error("thirteen");
}

static void count(pd_flag *, void *) { told++; }

static bool set_throws(int64_t value) {
  try {
    CHECK_OK(pd_flag_set_int64(flag, value, &err));
  } catch (const std::runtime_error &error) {
    CHECK_STR(error.what(), "thirteen");
    return true;
  }
  return false;
}

TEST(an_exception_of_a_validator_leaves_the_value_as_it_was) {
  alarm(240);
  flag = define_flag(PD_TYPE_int64, "own");
  CHECK_OK(pd_validator_add(&flag, 1, throws, nullptr, nullptr, nullptr, &err));
  for (int i = 0; i < 100; i++) { /* more than calls may be inside each other */
    CHECK(set_throws(13));
    CHECK_STR(text_of(flag), i ? "5" : "0");
    CHECK(!set_throws(5));
  }
}

TEST(an_exception_of_a_watcher_leaves_the_value_set_and_the_next_are_told) {
  alarm(240);
  flag = define_flag(PD_TYPE_int64, "own");
  CHECK_OK(pd_watcher_add(flag, throws_as_well, nullptr, nullptr, nullptr, &err));
  CHECK_OK(pd_watcher_add(flag, count, nullptr, nullptr, nullptr, &err));
  for (int i = 1; i <= 100; i++) {
    CHECK(set_throws(13));
    CHECK_STR(text_of(flag), "13");
    CHECK(!set_throws(5));
    CHECK(told == 2 * i);
  }
}

static void always_throws(pd_flag *, void *) {
  told++;
  throw std::runtime_error("always");
}

template <typename Call>
static bool call_throws(Call call) {
  try {
    call();
  } catch (const std::runtime_error &) {
    return true;
  }
  return false;
}

static const char *plugin(const char *name);

/* Sets two flags at once; the watcher of the first throws. */
static void leave_the_second_of_two_to_be_told() {
  pd_flag *flags[] = {define_flag(PD_TYPE_int64, "first"), define_flag(PD_TYPE_int64, "second")};
  for (pd_flag *each : flags) {
    CHECK_OK(pd_watcher_add(each, always_throws, nullptr, nullptr, nullptr, &err));
  }
  pd_assignment items[2] = {};
  for (int i = 0; i < 2; i++) {
    items[i].flag = flags[i];
    items[i].text = "5";
  }
  CHECK(call_throws([&] { pd_batch_set(items, 2, nullptr, nullptr, &err); }));
  CHECK(told == 1);
}

TEST(the_watchers_behind_one_that_throws_are_not_left_to_the_loader) {
  alarm(240);
  leave_the_second_of_two_to_be_told();
  void *library = dlopen(plugin("calling"), RTLD_NOW | RTLD_LOCAL); /* has the loader's lock */
  CHECK(library && told == 1);
  CHECK(!dlclose(library) && told == 1);
  CHECK(call_throws([] { pd_flag_find("first", &flag, &err); }));
  CHECK(told == 2);
}

TEST(the_watchers_behind_one_that_throws_are_told_by_the_next_set_of_another_flag) {
  alarm(240);
  pd_flag *other = define_flag(PD_TYPE_int64, "other");
  leave_the_second_of_two_to_be_told();
  CHECK(call_throws([] { pd_flag_set_by_name("other", "7", &err); }));
  CHECK(told == 2);
  CHECK_STR(text_of(other), "7");
}

static const char *plugin(const char *name) {
  static std::string path;
  path = std::string(getenv("PLUGINS")) + "/lib" + name + ".so";
  return path.c_str();
}

TEST(a_watcher_behind_one_that_always_throws_is_told_by_the_next_call) {
  alarm(240);
  flag = define_flag(PD_TYPE_int64, "own");
  CHECK_OK(pd_watcher_add(flag, always_throws, nullptr, nullptr, nullptr, &err));
  int told_before = 0;
  auto tell = [](pd_flag *, void *count) { ++*static_cast<int *>(count); };
  CHECK_OK(pd_watcher_add(flag, tell, &told_before, nullptr, nullptr, &err));
  for (int64_t i = 1; i <= 100; i++) {
    CHECK(call_throws([i] { pd_flag_set_int64(flag, i, &err); }));
    CHECK(told == i && told_before == i - 1);
  }
}

TEST(a_module_that_was_loaded_is_given_though_a_watcher_throws_then) {
  alarm(240);
  pd_flag *flags[] = {define_flag(PD_TYPE_int64, "first"), define_flag(PD_TYPE_int64, "second")};
  pd_assignment items[2] = {};
  for (int i = 0; i < 2; i++) {
    CHECK_OK(pd_watcher_add(flags[i], always_throws, nullptr, nullptr, nullptr, &err));
    items[i].flag = flags[i];
    items[i].text = "5";
  }
  CHECK(call_throws([&] { pd_batch_set(items, 2, nullptr, nullptr, &err); }));
  pd_module *module = nullptr;
  CHECK(call_throws([&] { pd_module_load(plugin("calling"), nullptr, &module, &err); }));
  CHECK(module && told == 2);
  CHECK_OK(pd_module_unload(module, &err));
}

template <typename Add>
static void check_plugin(Add add) {
  alarm(240);
  void *library = dlopen(plugin("calling"), RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
  CHECK_OK(pd_flag_find("calling_plain", &flag, &err));
  add();
  CHECK(set_throws(13));
  CHECK(!set_throws(5));
  CHECK(!dlclose(library));
#ifdef __GLIBC__
  CHECK(!dlopen(plugin("calling"), RTLD_NOW | RTLD_NOLOAD));
  CHECK(pd_flag_set_int64(flag, 6, nullptr) == PD_ERR_UNDEFINED);
#endif
}

TEST(a_plugin_leaves_after_an_exception_of_a_validator_of_its_flag) {
  check_plugin(
      [] { CHECK_OK(pd_validator_add(&flag, 1, throws, nullptr, nullptr, nullptr, &err)); });
}

TEST(a_plugin_leaves_after_an_exception_of_a_watcher_of_its_flag) {
  check_plugin(
      [] { CHECK_OK(pd_watcher_add(flag, throws_as_well, nullptr, nullptr, nullptr, &err)); });
}

static void throwing_writer(const char *, size_t, void *) { throw std::runtime_error("full"); }

TEST(an_exception_of_a_writer_comes_through) {
  alarm(240);
  flag = define_flag(PD_TYPE_int64, "own");
  bool caught = false;
  try {
    CHECK_OK(pd_report_help(nullptr, throwing_writer, nullptr, &err));
  } catch (const std::runtime_error &error) {
    caught = true;
  }
  CHECK(caught);
  CHECK(!set_throws(5));
}

/* AddressSanitizer's, where it is in the program. */
extern "C" size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t used() {
  if (__sanitizer_get_current_allocated_bytes) return __sanitizer_get_current_allocated_bytes();
#ifdef __GLIBC__
  return mallinfo2().uordblks;
#else
  return 0; /* nothing tells */
#endif
}

TEST(what_an_exception_interrupts_is_freed) {
  alarm(240);
  flag = define_flag(PD_TYPE_int64, "own");
  pd_flag *text = define_flag(PD_TYPE_string, "text");
  CHECK_OK(pd_validator_add(&flag, 1, throws, nullptr, nullptr, nullptr, &err));
  size_t before = 0;
  for (int i = 0; i < 4000; i++) {
    if (i == 2000) before = used();
    std::string value = "a text of its own, number " + std::to_string(i);
    pd_assignment items[2] = {};
    items[0].flag = text;
    items[0].text = value.c_str();
    items[1].flag = flag;
    items[1].text = "13";
    bool caught = false;
    try {
      pd_batch_set(items, 2, nullptr, nullptr, &err);
    } catch (const std::runtime_error &) {
      caught = true;
    }
    CHECK(caught);
  }
  CHECK(used() <= before + 4096);
}
