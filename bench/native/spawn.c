/* Runs a program COUNT times, one run after the other:
 *
 *     spawn COUNT PROGRAM [ARGUMENT ...]
 *
 * Prints one line of JSON: the medians of wall time and of processor time (user and system), in
 * milliseconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "spawn: %s\n", what);
  exit(1);
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double milliseconds(struct timeval time) {
  return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

static int by_size(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static void run(char **command, double *wall, double *cpu) {
  extern char **environ;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  struct rusage usage;
  pid_t child;
  int status;
  double begin = now_ms();
  if (posix_spawn(&child, command[0], &actions, NULL, command, environ) != 0) {
    fail("the program can't be started");
  }
  if (wait4(child, &status, 0, &usage) != child || status != 0) fail("the program failed");
  *wall = now_ms() - begin;
  *cpu = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  posix_spawn_file_actions_destroy(&actions);
}

int main(int argc, char **argv) {
  size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
  if (count == 0) fail("usage: spawn COUNT PROGRAM [ARGUMENT ...]");
  double *walls = calloc(count, sizeof *walls), *cpus = calloc(count, sizeof *cpus);
  if (!walls || !cpus) fail("out of memory");
  double unused;
  run(argv + 2, &unused, &unused); /* loads the files into the page cache */
  for (size_t i = 0; i < count; i++) run(argv + 2, &walls[i], &cpus[i]);
  printf("{\"wall\": %.4f, \"cpu\": %.4f}\n", median(walls, count), median(cpus, count));
  free(walls);
  free(cpus);
  return 0;
}
