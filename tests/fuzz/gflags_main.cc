// Compare our command line with that of gflags: the same random flags, lines, flagfiles
// and variables for both. What is taken or refused, all values, which of them were
// given, and the arguments must be the same, but for the known differences.
//
//     against_gflags [--seed N] [--lines N] [--from N] [directory of the documents]
//     against_gflags --seed N --line N     that line alone, reduced
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "gflags_rows.h"
#include "gflags_run.h"

using std::string;

#define LINES_A_PROCESS 100

// What the processes tell.
struct Counts {
  uint64_t lines, taken, refused, help, differing, definitions;
  uint64_t rows[ROW_COUNT];
  uint64_t at;  // the line under way
};
static Counts *counts;

// ---- Comparing

static string word_of(const Outcome &out) {
  static const char *const words[] = {"taken", "refused", "help"};
  return words[out.verdict] + (out.help.empty() ? "" : " (" + out.help + ")");
}

static void turn(Outcome &theirs, size_t behind, std::set<Row> &rows) {
  auto first = theirs.line.begin() + (long)theirs.first, end = theirs.line.end();
  if (behind == 0 || behind >= (size_t)(end - first)) return;
  std::rotate(first, first + (long)behind, end);
  rows.insert(ARGUMENTS);
}

// Gives what is different, or "".
static string differs(const Case &of, const Outcome &ours, const Outcome &theirs, bool exact) {
  if (ours.verdict != theirs.verdict || ours.help != theirs.help) {
    return "ours " + word_of(ours) + ", gflags " + word_of(theirs);
  }
  if (ours.verdict != Outcome::TAKEN) return "";
  for (size_t i = 0; i < of.defs.size(); i++) {
    string name = of.defs[i].name + ": ours ";
    if (ours.values[i] != theirs.values[i]) {
      return name + shown(ours.values[i]) + ", gflags " + shown(theirs.values[i]);
    }
    if (ours.given[i] != theirs.given[i]) return name + (ours.given[i] ? "" : "not ") + "given";
  }
  bool same = ours.first == theirs.first && ours.line.size() == theirs.line.size();
  for (size_t i = exact ? 0 : ours.first; same && i < ours.line.size(); i++) {
    same = ours.line[i] == theirs.line[i];
  }
  return same ? "" : "the words that are left";
}

static string check(const Case &of) {
  Outcome ours = run_ours(of), theirs = run_theirs(of);
  counts->lines++;
  ++*(ours.verdict == Outcome::TAKEN  ? &counts->taken
      : ours.verdict == Outcome::HELP ? &counts->help
                                      : &counts->refused);
  bool same = differs(of, ours, theirs, true).empty();
  if (same && ours.verdict == Outcome::TAKEN) return "";
  Pair pair = explain(of);
  for (const std::vector<string> &words : pair.dropped) {
    Case alone = of;
    alone.words = words;
    if (run_ours(alone).verdict == run_theirs(alone).verdict) return "no difference: " + words[0];
  }
  ours = run_ours(pair.ours);
  theirs = run_theirs(pair.theirs);
  if (theirs.verdict == Outcome::TAKEN) turn(theirs, count_behind(pair.theirs), pair.rows);
  string left = differs(of, ours, theirs, !pair.rewritten);
  if (!left.empty()) return left;
  if (!same) counts->differing++;
  if (!same) {
    for (Row row : pair.rows) counts->rows[row]++;
  }
  return "";
}

// ---- Processes

// Both libraries keep what is defined: each set of flags has a process. True: it ended
// well.
static bool in_process(const std::function<bool()> &work, bool silent) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 2);  // gflags prints its errors
    if (silent) dup2(nowhere, 1);
    bool done = work();
    fflush(stdout);
    _exit(done ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) printf("signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Case case_at(uint64_t seed, uint64_t at) {
  Case made;
  made = make_case(make_defs(seed * 1000003 + at / LINES_A_PROCESS), seed << 32 ^ at);
  return made;
}

// Do one case alone.
static bool does_well(Case of, bool silent) {
  auto work = [&] {
    define(of.defs, explain_refusal);
    string left = check(of);
    if (left.empty()) return true;
    printf("  %s\n", left.c_str());
    Outcome ours = run_ours(of);
    for (const string &error : ours.errors) printf("  ours: %s\n", error.c_str());
    return false;
  };
  return in_process(work, silent);
}

// Leave out whatever can be left out.
static Case reduce(Case of) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    auto attempt = [&](const Case &less) {
      if (less.defs.empty() || does_well(less, true)) return false;
      of = less;
      return smaller = true;
    };
    for (size_t i = of.words.size(); i-- > 0;) {
      Case less = of;
      less.words.erase(less.words.begin() + (long)i);
      attempt(less);
    }
    for (size_t i = of.defs.size(); i-- > 0;) {
      Case less = of;
      less.defs.erase(less.defs.begin() + (long)i);
      attempt(less);
    }
    for (auto &[name, text] : Case(of).variables) {
      Case less = of;
      less.variables.erase(name);
      attempt(less);
    }
    for (auto &[name, text] : Case(of).files) {
      for (size_t at = 0; at < of.files[name].size();) {
        Case less = of;
        string &file = less.files[name];
        file.erase(at, std::min(file.find('\n', at), file.size() - 1) + 1 - at);
        if (!attempt(less)) at = std::min(of.files[name].find('\n', at), of.files[name].size()) + 1;
      }
    }
  }
  return of;
}

static bool count_refusal(const std::vector<Def> &others, const Def &def) {
  bool explained = explain_refusal(others, def);
  counts->rows[NEGATION_DEFINED] += explained;
  return explained;
}

static bool do_process(uint64_t seed, uint64_t from, uint64_t to) {
  std::vector<Def> defs = make_defs(seed * 1000003 + from / LINES_A_PROCESS);
  define(defs, count_refusal);
  counts->definitions += defs.size();
  for (counts->at = from; counts->at < to; counts->at++) {
    Case of = case_at(seed, counts->at);
    of.defs = defs;
    string left = check(of);
    if (left.empty()) continue;
    printf("%s\n", left.c_str());
    return false;
  }
  return true;
}

static void tell_failure(uint64_t seed, uint64_t at) {
  Case of = case_at(seed, at);
  printf("seed %llu, line %llu: different from gflags\n", (unsigned long long)seed,
         (unsigned long long)at);
  bool alone = !does_well(of, true);
  if (alone) of = reduce(of);
  print(of);
  if (alone) does_well(of, false);
  if (!alone) printf("  only after the lines before it\n");
}

// ---- Main

static bool rows_exist(const string &docs) {
  std::ifstream file(docs + "/gflags-differences.md");
  string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  bool all = true;
  for (const char *row : row_texts) {
    if (page.find("\n| " + string(row) + " |") != string::npos) continue;
    printf("docs/gflags-differences.md has no row '%s'\n", row);
    all = false;
  }
  return all;
}

static void enter_directory() {
  static char directory[] = "/tmp/pd_gflags.XXXXXX";
  if (!mkdtemp(directory) || chdir(directory) != 0) abort();
}

static void leave_directory() {
  char here[64];
  if (!getcwd(here, sizeof here)) abort();
  for (const char *name : {"a", "b", "c"}) unlink(name);
  rmdir(here);
}

static void tell_counts(uint64_t seed) {
  printf("seed %llu: %llu lines for %llu definitions: %llu taken, %llu refused, %llu for help\n",
         (unsigned long long)seed, (unsigned long long)counts->lines,
         (unsigned long long)counts->definitions, (unsigned long long)counts->taken,
         (unsigned long long)counts->refused, (unsigned long long)counts->help);
  printf("no unknown difference; %llu lines differ as docs/gflags-differences.md tells:\n",
         (unsigned long long)counts->differing);
  for (int row = 0; row < ROW_COUNT; row++) {
    printf("%9llu  %s\n", (unsigned long long)counts->rows[row], row_texts[row]);
  }
}

int main(int argc, char **argv) {
  uint64_t seed = 1, from = 0, lines = 20000, one = UINT64_MAX;
  string docs;
  for (int i = 1; i < argc; i++) {
    bool valued = i + 1 < argc;
    if (valued && !strcmp(argv[i], "--seed")) {
      seed = strtoull(argv[++i], nullptr, 10);
    } else if (valued && !strcmp(argv[i], "--lines")) {
      lines = strtoull(argv[++i], nullptr, 10);
    } else if (valued && !strcmp(argv[i], "--from")) {
      from = strtoull(argv[++i], nullptr, 10);
    } else if (valued && !strcmp(argv[i], "--line")) {
      one = strtoull(argv[++i], nullptr, 10);
    } else {
      docs = argv[i];
    }
  }
  if (!docs.empty() && !rows_exist(docs)) return 1;
  counts = (Counts *)mmap(nullptr, sizeof *counts, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  enter_directory();
  bool well = true;
  if (one != UINT64_MAX) tell_failure(seed, one);
  for (uint64_t at = from; well && one == UINT64_MAX && at < lines; at += LINES_A_PROCESS) {
    uint64_t to = std::min<uint64_t>(at + LINES_A_PROCESS, lines);
    well = in_process([&] { return do_process(seed, at, to); }, false);
  }
  if (!well) tell_failure(seed, counts->at);
  if (well && one == UINT64_MAX) tell_counts(seed);
  leave_directory();
  return well ? 0 : 1;
}
