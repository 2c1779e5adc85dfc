/* The stress program: a few threads call every function that changes the registry, chosen by a
 * seed, in rounds. Operations check what must hold at any moment; between two rounds all threads
 * stop, and one of them checks what must hold then.
 *
 * model.c    flags that one thread owns, whose values it knows
 * shared.c   flags that all threads set, definitions that come while the program runs, listings
 * modules.c  plugins, and the conflicts by which they are refused
 * holds.c    what must be true of a plugin that a thread holds
 * choices.c  an operation whose implementations come and go with plugins
 * scopes.c   values of one thread, and contexts that threads give to each other
 * stress.c   the threads, the rounds, and children of fork */
#ifndef STRESS_H
#define STRESS_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pd_flags.h>

#define THREADS 4
#define OWNED_FLAGS 4
#define OVERRIDES 6
#define SCOPES 6
#define HOLDS 6
#define TEXT_SIZE 64

/* A flag of one thread, and what the model knows of it. */
typedef struct owned_flag {
  pd_flag *flag;
  pd_type type;
  char name[TEXT_SIZE], alias[TEXT_SIZE];
  bool has_argv, has_runtime, frozen;
  int argv, runtime;
  int overrides[OVERRIDES]; /* values, the topmost last */
  pd_override override_numbers[OVERRIDES];
  int depth;
  pd_hook watcher, validator;       /* 0: none */
  unsigned notified, notifications; /* calls of the watcher, and how many must have come */
} owned_flag;

struct plugin;

/* A plugin that a thread has loaded and not unloaded yet. */
typedef struct hold {
  struct plugin *plugin;
  pd_module *module;
} hold;

typedef struct open_scope {
  pd_scope number;
  int64_t value;
} open_scope;

typedef struct actor {
  int number;
  uint64_t random;
  const char *operation; /* the one that it does */
  owned_flag owned[OWNED_FLAGS];
  unsigned pending_names; /* names that got a pending value before their definition */
  hold holds[HOLDS];
  size_t hold_count;
  void *opened; /* by the loader alone; or NULL */
  struct plugin *opened_plugin;
  pd_hook plugin_watcher; /* 0: none */
  pd_impl impl;           /* 0: none */
  open_scope scopes[SCOPES];
  size_t scope_count;
} actor;

/* ---- Failing ---- */

/* Print what is wrong and end the process. `who` may be NULL. */
__attribute__((noreturn, format(printf, 4, 5))) void fail_at(const actor *who, const char *file,
                                                             int line, const char *format, ...);
#define FAIL(who, ...) fail_at(who, __FILE__, __LINE__, __VA_ARGS__)
#define MUST(who, condition)                                                                       \
  do {                                                                                             \
    if (!(condition)) FAIL(who, "false: %s", #condition);                                          \
  } while (0)
#define MUST_BE(who, call, expected) check_status(who, __FILE__, __LINE__, #call, call, expected)
void check_status(const actor *who, const char *file, int line, const char *call, pd_status got,
                  pd_status expected);

/* ---- Chance ---- */

/* A number below `count`. */
unsigned pick_number(actor *who, unsigned count);

/* Let another thread run, sometimes: called by hooks. */
void yield_sometimes(void);

/* ---- Operations; each may be called by every thread ---- */

void set_owned(actor *who);
void set_owned_batch(actor *who);
void reset_owned(actor *who);
void push_override(actor *who);
void pop_override(actor *who);
void freeze_owned(actor *who);
void hook_owned(actor *who);
void parse_line(actor *who);
void drop_argv(actor *who);

void set_pair(actor *who);
void set_shared_text(actor *who);
void define_common(actor *who);
void define_pending(actor *who);
void list_all(actor *who);
void write_reports(actor *who);
void compare_snapshot(actor *who);
void apply_config(actor *who);

void load_plugin(actor *who);
void unload_plugin(actor *who);
void open_by_loader(actor *who);
void change_conflict(actor *who);
void set_plugin_pending(actor *who);
void check_modules(actor *who);

void use_hold(actor *who);
void set_plugin_flags(actor *who);
void watch_plugin_flag(actor *who);
void look_at_plugin(actor *who);

void choose_impl(actor *who);
void call_operation(actor *who);
void register_impl(actor *who);

void push_scope(actor *who);
void pop_scope(actor *who);
void set_scoped(actor *who);
void lend_context(actor *who);
void borrow_context(actor *who);

/* ---- Before the first round, and between two; no other thread runs ---- */

void define_owned(actor *who);
void define_shared(void);
void find_plugins(const char *directory);
void begin_choices(void);

void check_owned(actor *who);
void check_snapshot(actor *actors);
void check_plugins(const actor *actors);
void check_choice(const actor *actors);
void check_scopes(const actor *who);

/* In the child of a fork, on the thread that forked. */
void check_child_owned(actor *who);
void check_child_modules(actor *who);

#endif /* STRESS_H */
