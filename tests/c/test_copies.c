/* Two copies of the library in one process: the first one hosts the registry.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "module/module.h"

extern pd_copy_record pd__copy_v1; /* of the copy that is part of this program */

static void *open_other_copy(void) {
  const char *path = getenv("LIBRARY");
  void *copy = dlopen(path ? path : "libpd_flags.so", RTLD_NOW | RTLD_LOCAL);
  if (!copy) check_fail(__FILE__, __LINE__, "%s", dlerror());
  return copy;
}

static void *function_of(void *copy, const char *name) {
  void *found = dlsym(copy, name);
  CHECK(found);
  return found;
}

typedef pd_status register_function(const pd_flag_def *def, pd_flag **out, pd_error *err);
typedef pd_flag *next_function(const pd_flag *previous);
typedef pd_status copy_function(size_t index, pd_copy_info *info, pd_error *err);

static pd_copy_info get_info(copy_function *get, size_t index) {
  pd_copy_info info = {.size = sizeof info};
  CHECK_OK(get(index, &info, &err));
  CHECK_STR(info.version, pd_version());
  return info;
}

/* Of both copies, only this one hosts. */
static void check_host(copy_function *get, bool first_hosts, bool second_hosts) {
  pd_copy_info one = get_info(get, 0), two = get_info(get, 1);
  CHECK(one.hosting == first_hosts && two.hosting == second_hosts);
  CHECK(strstr(one.path, "/program") && strstr(two.path, "libpd_flags.so"));
  CHECK(get(2, &one, NULL) == PD_ERR_ARGUMENT);
}

TEST(a_copy_that_comes_second_uses_the_registry_of_the_first) {
  pd_flag *mine = define_flag(PD_TYPE_int64, "mine"), *theirs = NULL;
  void *other = open_other_copy();
  next_function *next = (next_function *)(intptr_t)function_of(other, "pd_flag_next");
  register_function *define = (register_function *)(intptr_t)function_of(other, "pd_flag_register");
  CHECK(next(NULL) == mine && !next(mine));
  pd_flag_def def = definition(PD_TYPE_int64, "theirs");
  CHECK_OK(define(&def, &theirs, &err));
  CHECK(pd_flag_next(mine) == theirs);
  check_host(pd_copy_get_info, true, false);
}

/* ---- What the second copy sees of the first one when it arrives ---- */

static int yields;
static pd_copy_record *arriving; /* the record of the second copy */
static void (*during_yield)(void), (*during_walk)(void);

/* The image of a third copy. It is on the stack, above all others. */
typedef struct third_copy {
  struct {
    ElfW(Nhdr) head;
    char name[sizeof PD_NOTE_NAME + 3 - (sizeof PD_NOTE_NAME + 3) % 4];
    int32_t offset; /* of the record, from here */
  } note;
  _Alignas(16) pd_copy_record record;
} third_copy;
static third_copy *third;

static void make_third_copy(third_copy *made) {
  memset(made, 0, sizeof *made);
  made->note.head = (ElfW(Nhdr)){sizeof PD_NOTE_NAME, sizeof made->note.offset, PD_NOTE_COPY};
  memcpy(made->note.name, PD_NOTE_NAME, sizeof PD_NOTE_NAME);
  made->note.offset = (int32_t)((char *)&made->record - (char *)&made->note.offset);
  made->record = (pd_copy_record){PD_ABI_VERSION, sizeof made->record, NULL, "3", 0, NULL};
  third = made;
}

static int visit_third(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context) {
  ElfW(Phdr) segments[] = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_memsz = sizeof *third},
                           {.p_type = PT_NOTE, .p_memsz = sizeof third->note, .p_align = 4}};
  struct dl_phdr_info info = {(uintptr_t)third, "third", segments, 2, 0, 0, 0, NULL};
  return visit(&info, sizeof info, context);
}

static void find_arriving(const pd__platform_image *image, void *own) {
  if (image->record == own || (third && image->record == &third->record)) return;
  arriving = image->record;
}

static const pd_copy_record *get_arrived(void) {
  pd__platform_visit_records(PD__RECORDS_OF_COPIES, NULL, find_arriving, &pd__copy_v1);
  return arriving;
}

/* Both copies call these, in place of the system's. */
int sched_yield(void) {
  yields++;
  if (!during_yield) return 0;
  get_arrived();
  during_yield();
  return 0;
}

/* Sanitizers call it before anything that they have instrumented can run. */
#define BEFORE_SANITIZERS                                                                          \
  __attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread")))

BEFORE_SANITIZERS
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context) {
  int (*walk)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
  void (*during)(void) = during_walk;
  *(void **)&walk = dlsym(RTLD_NEXT, "dl_iterate_phdr");
  during_walk = NULL;
  if (during) during();
  int result = walk(visit, context);
  return result == 0 && third ? visit_third(visit, context) : result;
}

/* This copy has arrived at the start of the program; now it looks as if it had not. */
static void pretend(const pd_host *host, uint32_t candidate) {
  alarm(240);
  yields = 0;
  pd__copy_v1.host = host;
  pd__copy_v1.candidate = candidate;
}

static pd_status register_in(void *copy, const char *name) {
  pd_flag_def def = definition(PD_TYPE_int64, name);
  return ((register_function *)(intptr_t)function_of(copy, "pd_flag_register"))(&def, NULL, &err);
}

static int checked;
static void check_candidate(void) { checked += get_arrived()->candidate == 1; }

TEST(a_copy_is_a_candidate_while_it_looks_at_the_others) {
  pretend(NULL, 0);
  during_walk = check_candidate;
  open_other_copy();
  CHECK(checked == 1 && !get_arrived()->candidate && get_arrived()->host);
}

TEST(a_copy_that_is_alone_waits_for_nobody) {
  pretend(NULL, 0);
  void *other = open_other_copy();
  CHECK_OK(register_in(other, "theirs"));
  CHECK(yields == 0 && get_arrived()->host && !get_arrived()->candidate);
  CHECK(get_arrived()->index);
}

static void stop_being_candidate(void) {
  bool is_above = (uintptr_t)arriving > (uintptr_t)&pd__copy_v1;
  CHECK(arriving->candidate == (is_above ? 0 : 1) && !arriving->host);
  if (yields == 3) pd__copy_v1.candidate = 0;
}

TEST(a_copy_waits_while_another_one_is_a_candidate) {
  pretend(NULL, 1);
  during_yield = stop_being_candidate;
  void *other = open_other_copy();
  CHECK_OK(register_in(other, "theirs"));
  CHECK(yields == 3 && get_arrived()->host != &pd__copies_find_or_elect_host(NULL)->host);
  CHECK(!get_arrived()->candidate);
  during_yield = NULL; /* LeakSanitizer yields at exit */
}

static void stop_third(void) {
  bool is_above = (uintptr_t)arriving > (uintptr_t)&third->record;
  CHECK(arriving->candidate == (is_above ? 0 : 1) && !arriving->host);
  if (yields == 3) third->record.candidate = 0;
}

TEST(the_copy_at_the_lowest_address_waits_until_no_other_one_is_a_candidate) {
  third_copy made;
  make_third_copy(&made);
  made.record.candidate = 1;
  pretend(NULL, 0);
  during_yield = stop_third;
  void *other = open_other_copy();
  CHECK_OK(register_in(other, "theirs"));
  CHECK(yields == 3 && get_arrived()->host && !get_arrived()->candidate);
  during_yield = NULL; /* LeakSanitizer yields at exit */
}

static const pd_host *elected;
static void become_elected(void) { pd__copy_v1.host = elected; }

TEST(a_copy_that_waited_uses_the_registry_of_the_elected_one) {
  elected = pd__copy_v1.host;
  pretend(NULL, 1);
  during_yield = become_elected;
  void *other = open_other_copy();
  CHECK(yields == 1 && get_arrived()->host == elected && !get_arrived()->candidate);
  CHECK(!get_arrived()->index);
  CHECK_OK(register_in(other, "theirs"));
  find_flag("theirs");
  during_yield = NULL; /* LeakSanitizer yields at exit */
}

TEST(a_copy_starts_no_second_registry_beside_one_of_another_abi) {
  pd__copy_v1.abi = 99;
  pretend(pd__copy_v1.host, 0);
  void *other = open_other_copy();
  for (int i = 0; i < 2; i++) {
    CHECK(register_in(other, "theirs") == PD_ERR_ABI);
    CHECK(strstr(err.message, "the registry of this process has another ABI version, expected 1"));
  }
  CHECK(yields == 0 && !get_arrived()->host && !get_arrived()->candidate);
}

TEST(a_copy_of_another_abi_that_has_not_arrived_hinders_nobody) {
  pd__copy_v1.abi = 99;
  pretend(NULL, 1);
  void *other = open_other_copy();
  CHECK_OK(register_in(other, "theirs"));
  CHECK(yields == 0 && get_arrived()->host);
}

/* ---- A host that lacks functions ---- */

static const char *get_old_version(void) { return "0.0.1"; }

static void use_old_host(pd_table *old, uint32_t size) {
  memcpy(old, pd__copy_v1.host, sizeof *old);
  old->host.size = size;
  old->version = get_old_version;
  pretend(&old->host, 0);
}

TEST(a_function_behind_the_end_of_the_hosts_table_is_not_called) {
  static pd_table old;
  use_old_host(&old, offsetof(pd_table, flag_register) + sizeof old.flag_register);
  void *other = open_other_copy();
  CHECK_OK(register_in(other, "theirs"));
  CHECK(!((next_function *)(intptr_t)function_of(other, "pd_flag_next"))(NULL));
  CHECK(pd_flag_next(NULL));
  old.host.size = offsetof(pd_table, flag_register);
  CHECK_STATUS(register_in(other, "others"), PD_ERR_UNSUPPORTED,
               "pd_flag_register: the registry of this process is hosted by version 0.0.1, which "
               "lacks it");
}

TEST(a_function_that_the_hosts_table_has_no_pointer_to_is_not_called) {
  static pd_table old;
  use_old_host(&old, sizeof old);
  old.flag_register = NULL;
  void *other = open_other_copy();
  CHECK(register_in(other, "theirs") == PD_ERR_UNSUPPORTED);
}

TEST(the_table_of_a_host_that_has_all_functions_is_complete) {
  CHECK(pd__complete_table && pd__complete_table == pd__copies_find_or_elect_host(NULL));
}
