/* LLVM's cl::opt: the constructor of the object registers it. With BENCH_LOCKED, a lock makes each
 * kind of work safe for threads. */
#include <llvm/Support/CommandLine.h>

#include <mutex>
#include <new>

#include "peer.h"

#ifdef BENCH_LOCKED
static std::mutex mutex;
#define BENCH_LOCK const std::lock_guard<std::mutex> guard(mutex)
#else
#define BENCH_LOCK (void)0
#endif

namespace cl = llvm::cl;
using flag = cl::opt<int>;

static flag bench_int("bench_int", cl::init(3), cl::desc("A flag to read"));
static cl::opt<std::string> bench_string("bench_string", cl::init("fast"),
                                         cl::desc("A flag to read"));
static flag *flags;

void subject_prepare(const bench_texts *texts) { flags = outside_heap<flag>(texts->count); }

void subject_register(const bench_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) {
    BENCH_LOCK;
    new (&flags[i]) flag(llvm::StringRef(texts->names[i]), cl::init(0), cl::desc(texts->helps[i]));
  }
}

bool subject_set(const char *name, const char *text) {
  static llvm::StringMap<cl::Option *> &options = cl::getRegisteredOptions();
  BENCH_LOCK;
  auto found = options.find(name);
  return found != options.end() && !found->second->addOccurrence(0, name, text, true);
}

bool subject_parse(int argc, char **argv) {
  BENCH_LOCK;
  return cl::ParseCommandLineOptions(argc, argv);
}

bool subject_holds(const bench_texts *, size_t index, int value) { return flags[index] == value; }

size_t subject_definition(void) { return sizeof(flag); }

BENCH_READS(static_cast<int>(bench_int), bench_string)
