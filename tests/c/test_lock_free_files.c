/* A file may take as long as it likes: other threads set flags and fork meanwhile.
 *
 * Built with: -Wl,--wrap=read -Wl,--wrap=open $LIBRARY
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "forking.h"
#include "plugged.h"

/* ---- A slow file system ---- */

static _Thread_local bool slow; /* the next read of this thread takes until `leave` */
static const char *watched;     /* a path */
static int opened;              /* so often */

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size) {
  bool waits = slow;
  slow = false;
  if (waits) stop_here();
  return __real_read(fd, buffer, size);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  if (watched && !strcmp(path, watched)) opened++;
  return __real_open(path, flags);
}

static pd_flag *own;
static char path[64] = "/tmp/slow_file_XXXXXX";
static char argument[96];

static void write_flagfile(const char *text) {
  int fd = mkstemp(path);
  CHECK(fd >= 0);
  CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
}

static pd_status parse(const char *file, pd_error *error) {
  char *argv[] = {(char *)(uintptr_t) "program", argument, NULL};
  int argc = 2;
  snprintf(argument, sizeof argument, "--flagfile=%s", file);
  return pd_parse_argv(&argc, argv, NULL, error);
}

static void *parse_slowly(void *error) {
  slow = true;
  parse(path, error);
  return NULL;
}

static void *configure_slowly(void *error) {
  pd_config *config = NULL;
  pd_status status = pd_config_new(PD_SOURCE_FILE, &config, error);
  slow = true;
  if (status == PD_OK) status = pd_config_add_flagfile(config, path, NULL, NULL, error);
  if (status == PD_OK) status = pd_config_apply(config, false, NULL, error);
  pd_config_free(config);
  return NULL;
}

/* What the rest of the process does while one thread waits for a file. */
static void use_registry(void) {
  int64_t value = 0;
  CHECK_OK(pd_flag_set_int64(own, 8, &err));
  CHECK_OK(pd_flag_get_int64(own, &value, &err));
  CHECK(value == 8);
  close_plugin(open_plugin("alpha"));
  pid_t child = fork();
  if (child == 0) {
    alarm(240);
    CHECK_OK(pd_flag_set_int64(own, 9, &err));
    _exit(0);
  }
  check_child(child);
}

static void check_meanwhile(void *(*act)(void *), const char *after) {
  pd_error error = {.status = PD_OK};
  begin();
  make_gate();
  own = define_flag(PD_TYPE_int64, "own");
  pd_flag *from_file = define_flag(PD_TYPE_int64, "from_file");
  write_flagfile("--from_file=5\n--own=3\n");
  pthread_t thread = start(act, &error);
  wait_for(&inside);
  unlink(path);
  use_registry();
  sem_post(&leave);
  finish(thread);
  if (error.status != PD_OK) check_fail(__FILE__, __LINE__, "%s", error.message);
  CHECK_STR(text_of(from_file), "5");
  CHECK_STR(text_of(own), after); /* what was set at run time has the higher rank */
}

TEST(others_set_flags_and_fork_while_a_command_line_waits_for_its_flagfile) {
  check_meanwhile(parse_slowly, "8");
}
TEST(others_set_flags_and_fork_while_file_values_are_read) {
  check_meanwhile(configure_slowly, "8");
}

/* ---- A big file ---- */

static bool stop;
static size_t sets;

static void *keep_setting(void *unused) {
  for (int64_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
    CHECK(pd_flag_set_int64(own, i, NULL) == PD_OK);
    __atomic_fetch_add(&sets, 1, __ATOMIC_RELAXED);
  }
  return unused;
}

static size_t sets_so_far(void) { return __atomic_load_n(&sets, __ATOMIC_RELAXED); }

/* Lines that say nothing: all the work is reading and looking at them. */
static void write_comments(size_t size) {
  FILE *file = fdopen(mkstemp(path), "w");
  for (size_t i = 0; i < size; i += 32) fputs("# nothing that anybody can use\n", file);
  CHECK(!fclose(file));
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The other thread sets on, an eighth as often as without the file at the least. */
TEST(others_set_flags_while_a_big_flagfile_is_cut_into_lines) {
  begin();
  own = define_flag(PD_TYPE_int64, "own");
  write_comments((size_t)40 << 20);
  pthread_t setter = start(keep_setting, NULL);
  while (sets_so_far() < 1000) usleep(1000);
  size_t before = sets_so_far();
  double from = now();
  CHECK_OK(parse(path, &err));
  double took = now() - from;
  size_t meanwhile = sets_so_far() - before;
  before = sets_so_far();
  usleep((useconds_t)(took * 1e6));
  size_t alone = sets_so_far() - before;
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  finish(setter);
  unlink(path);
  if (meanwhile < alone / 8) {
    check_fail(__FILE__, __LINE__, "%zu sets meanwhile, and %zu as long alone", meanwhile, alone);
  }
}

/* ---- What a command line reads is what is there when it is read ---- */

/* Of a flag that came while the file was read. */
TEST(a_flag_that_is_defined_while_a_flagfile_is_read_takes_its_value) {
  pd_error error = {.status = PD_OK};
  begin();
  make_gate();
  write_flagfile("--alpha_level=5\n");
  pthread_t thread = start(parse_slowly, &error);
  wait_for(&inside);
  unlink(path);
  load_module("alpha");
  sem_post(&leave);
  finish(thread);
  if (error.status != PD_OK) check_fail(__FILE__, __LINE__, "%s", error.message);
  CHECK_STR(text_of(find_flag("alpha_level")), "5");
}

/* ---- What looks like a file, and isn't one ---- */

static void check_refused(const char *file) {
  begin();
  watched = file;
  CHECK(parse(file, &err) == PD_ERR_FILE);
  if (!strstr(err.message, "expected a regular file")) {
    check_fail(__FILE__, __LINE__, "%s", err.message);
  }
}

TEST(a_fifo_is_no_flagfile) {
  char fifo[] = "/tmp/fifo_XXXXXX";
  close(mkstemp(fifo));
  unlink(fifo);
  CHECK(!mkfifo(fifo, 0600));
  check_refused(fifo);
  CHECK(opened == 0); /* that would be an event for its writer */
  unlink(fifo);
}

TEST(a_device_is_no_flagfile) {
  check_refused("/dev/zero");
  CHECK(opened == 0); /* that may do something */
}

/* stat says that it is a regular file; a read of it takes the messages away from the system's log,
 * or waits for the next one. */
TEST(the_messages_of_the_kernel_are_no_flagfile) {
  if (access("/proc/kmsg", R_OK) != 0) return; /* only root may read them */
  check_refused("/proc/kmsg");
}

TEST(a_file_of_proc_that_doesnt_wait_is_a_flagfile) {
  begin();
  own = define_flag(PD_TYPE_int64, "own");
  write_flagfile("--own=3\n");
  int fd = open(path, O_RDONLY);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  CHECK_OK(parse(name, &err));
  CHECK_STR(text_of(own), "3");
  unlink(path);
  close(fd);
}
