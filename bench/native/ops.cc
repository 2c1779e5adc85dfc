/* The cost of a call of an operation whose implementation was chosen at run time, in nanoseconds:
 * one line of JSON. With C10, also through a Registry of PyTorch's c10. BENCH_FLEXIBLAS names the
 * folder where FlexiBLAS is installed: then a scalar product of no elements through its switch, and
 * without it. */
#include <pd_flags.hpp>

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#ifdef C10
#include <c10/util/Registry.h>
#endif

static double add(double x, double y) { return x + y; }
static double more(double x, double y) { return x + y + 1; }
PD_DEFINE_OP(add, double, (double, double), add, "x + y");
PD_IMPL(add, more, more, .rank = 1);
PD_DEFINE_SCOPED_OP(scoped_add, double, (double, double), add, "x + y");

static double (*volatile pointer)(double, double) = more;

#ifdef C10
struct adder {
  virtual ~adder() = default;
  virtual double operator()(double x, double y) const = 0;
};
struct more_adder : adder {
  double operator()(double x, double y) const override { return more(x, y); }
};
C10_DECLARE_REGISTRY(Adders, adder);
C10_DEFINE_REGISTRY(Adders, adder)
C10_REGISTER_CLASS(Adders, more, more_adder)
static double by_c10(double x, double y) { return (*Adders()->Create("more"))(x, y); }
#endif

static double (*ddot)(const int *, const double *, const int *, const double *, const int *);
static double by_ddot(double x, double y) {
  const int count = 0, step = 1;
  return ddot(&count, &x, &step, &y, &step);
}

/* Take FlexiBLAS' own ddot_, or the one that it calls, of the backend which it chooses at first. */
static void open_flexiblas(bool backend) {
  const char *home = std::getenv("BENCH_FLEXIBLAS");
  std::string folder = std::string(home ? home : "") + "/lib/";
  void *library = dlopen((folder + "libflexiblas.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library && backend) {
    library = dlopen((folder + "flexiblas/libflexiblas_netlib.so").c_str(), RTLD_LAZY);
  }
  void *found = library ? dlsym(library, "ddot_") : nullptr;
  if (!found) {
    std::fprintf(stderr, "BENCH_FLEXIBLAS: %s\n", dlerror());
    std::exit(1);
  }
  std::memcpy(&ddot, &found, sizeof ddot);
}

static double by_pointer(double x, double y) { return pointer(x, y); }
static double by_ours(double x, double y) { return PD_CALL(add)(x, y); }
static double by_ours_scoped(double x, double y) { return PD_SCOPED_CALL(scoped_add)(x, y); }

template <double (*call)(double, double)>
static double measure(long rounds) {
  double best = 1e9, sum = 0;
  for (int repeat = 0; repeat < 5; repeat++) {
    auto begin = std::chrono::steady_clock::now();
    for (long i = 0; i < rounds; i++) sum = call(sum, 1.0);
    std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    if (taken.count() / double(rounds) < best) best = taken.count() / double(rounds);
  }
  if (sum < 0) std::abort();
  return best;
}

int main(int argc, char **argv) {
  long rounds = argc > 2 ? std::atol(argv[2]) : 1000000;
  const char *who = argc > 1 ? argv[1] : "";
  double found = 0;
  if (!std::strcmp(who, "pointer")) found = measure<by_pointer>(rounds);
  if (!std::strcmp(who, "ours")) found = measure<by_ours>(rounds);
  if (!std::strcmp(who, "ours, scoped")) found = measure<by_ours_scoped>(rounds);
  if (!std::strcmp(who, "ours, in a scope")) {
    pd_flag *flag = nullptr;
    pd_assignment item = {};
    pd_scope scope = 0;
    pd_flag_find("impl.scoped_add", &flag, nullptr);
    item.flag = flag;
    item.text = "native";
    if (pd_scope_push(&item, 1, nullptr, nullptr, &scope, nullptr) != PD_OK) return 1;
    found = measure<by_ours_scoped>(rounds);
  }
  if (!std::strcmp(who, "ddot of FlexiBLAS")) {
    open_flexiblas(false);
    found = measure<by_ddot>(rounds);
  }
  if (!std::strcmp(who, "ddot of its backend")) {
    open_flexiblas(true);
    found = measure<by_ddot>(rounds);
  }
#ifdef C10
  if (!std::strcmp(who, "c10")) found = measure<by_c10>(rounds / 10);
#endif
  std::printf("{\"ns\": %g}\n", found);
}
