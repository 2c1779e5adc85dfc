"""What C++ validators and watchers throw: an error or a warning, and the end of a thread passes."""

from __future__ import annotations

import pytest
from support import INCLUDE, LIBDIR, SANITIZE, WARNINGS, run, tool, write

pytestmark = pytest.mark.skipif(bool(SANITIZE), reason="ends threads inside callbacks")

START = """
#include <pd_flags.hpp>
#include <pthread.h>
#include <unistd.h>
#include <cstdio>
#include <stdexcept>
#include <string>
static void thrown(int n) {
  if (n == 6) throw 3;
  if (n == 7) throw std::runtime_error("the moon");
  if (n == 5) pthread_exit(nullptr);
}
"""
OBJECTS = """
static void warn(const char *message, pd_warning kind, void *) {
  if (kind == PD_WARNING_GENERAL) std::printf("warning: %s\\n", message);
}
static pd::flag<int> a{"a", 1, "A", pd::watch(thrown),
                       pd::watch([](int n) { std::printf("second %d\\n", n); })};
static pd::flag<int> b{"b", 1, "B", pd::validate([](int n) { return thrown(n), true; })};
static void *set_a(void *) { std::printf("back %d\\n", a.set(5).ok()); return nullptr; }
static void *set_b(void *) { std::printf("back %d\\n", b.set(5).ok()); return nullptr; }
static void in_thread(void *(*body)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, body, nullptr) != 0) return;
  pthread_join(thread, nullptr);
}
int main() {
  if (pd_warning_handle(warn, nullptr, nullptr) != PD_OK) return 1;
  for (int n : {6, 7}) std::printf("%s\\n", a.set(n).ok() ? "set" : "refused");
  for (int n : {6, 7}) std::printf("%s\\n", b.set(n).message().c_str());
  auto hook = a.on_change([](int) { throw std::runtime_error("later"); });
  bool done = a.set(8).ok();
  std::printf("%d %d\\n", done, hook.ok() && hook->remove().ok());
  in_thread(set_a);
  in_thread(set_b);
  std::printf("%d %d\\n", a.get(), b.get());
  std::fflush(stdout);
  _exit(0);
}
"""
OBJECTS_SHOWN = """\
warning: a: a watcher threw something that is no std::exception
second 6
set
warning: a: a watcher threw the moon
second 7
set
b=6: the validator threw something that is no std::exception
b=7: the moon
second 8
warning: a: a watcher threw later
1 1
5 1
"""
GFLAGS = """
#include <gflags/gflags.h>
DEFINE_int32(n, 1, "N");
static bool check(const char *, int32_t n) { return thrown(n), true; }
DEFINE_validator(n, &check);
int main() {
  pd_flag *flag = nullptr;
  pd_error err;
  if (pd_flag_find("n", &flag, &err) != PD_OK) return 1;
  for (int n : {6, 7}) {
    if (pd_flag_set_int32(flag, n, &err) != PD_OK) std::printf("%s\\n", err.message);
  }
  std::printf("%d\\n", FLAGS_n);
}
"""
GFLAGS_SHOWN = """\
n=6: the validator threw something that is no std::exception
n=7: the moon
1
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("text", "shown"), [(OBJECTS, OBJECTS_SHOWN), (GFLAGS, GFLAGS_SHOWN)], ids=["objects", "gflags"]
)
def test_what_functions_throw_stays_on_their_side(tmp_path, compiler, text, shown):
    source, program = write(tmp_path / "throws.cc", START + text), tmp_path / "throws"
    words = [tool(compiler, "clang" if compiler == "clang++" else None), "-std=c++11", *WARNINGS]
    linked = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags", "-pthread"]
    run(*words, f"-I{INCLUDE}/compat", f"-I{INCLUDE}", source, "-o", program, *linked)
    assert run(program).stdout == shown
