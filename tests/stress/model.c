/* Eight threads do what they like with the registry, and a model says what must hold:
 *
 *   stress PLUGIN PLUGIN
 *
 * Each thread owns a flag of each of four types, sets them by every way there is, and
 * knows their values and how often their watchers were called. The flags that they
 * share always have values that somebody set, and those of a pair that is set together
 * are equal in the eyes of its validator. The plugins are those of tests/joining.py.
 * STRESS_SEED chooses the operations, STRESS_SECONDS how long it goes on. Prints the
 * seed, and "done". */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pd_flags.h>

#define THREADS 8
#define OWNED 4
#define LAYERS 6
#define TEXT 32

/* A value of the model, -WIDEST to WIDEST, stands for one of each type. */
#define WIDEST 1000
#define REFUSED 13 /* by validators */

typedef struct owned {
  pd_flag *flag;
  pd_type type;
  char name[TEXT];
  bool has_argv, has_run, frozen;
  int argv, run;
  int overrides[LAYERS]; /* values, the topmost last */
  pd_override numbers[LAYERS];
  int depth;
  pd_hook watcher, validator; /* 0: none */
  unsigned told, due;         /* calls of the watcher */
} owned;

typedef struct actor {
  pthread_t thread;
  uint64_t random;
  int number;
  unsigned late; /* names that waited for their definition */
  owned owned[OWNED];
} actor;

static actor actors[THREADS];
static const char *const *plugins;
static pd_flag *left, *right, *shared;
static unsigned long long seed;
static time_t deadline;
static unsigned done; /* operations */

__attribute__((noreturn, format(printf, 3, 4))) static void fail(const actor *who, int line,
                                                                 const char *format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  fprintf(stderr, "stress.c:%d: STRESS_SEED=%llu, thread %d: ", line, seed, who ? who->number : -1);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  __builtin_va_end(arguments);
  _Exit(1);
}

#define MUST(who, condition)                                                                       \
  do {                                                                                             \
    if (!(condition)) fail(who, __LINE__, "false: %s", #condition);                                \
  } while (0)

static void must_be(const actor *who, int line, pd_status got, pd_status expected) {
  if (got != expected) {
    fail(who, line, "%s instead of %s", pd_status_name(got), pd_status_name(expected));
  }
}
#define MUST_BE(who, got, expected) must_be(who, __LINE__, got, expected)

static unsigned pick(actor *who, unsigned count) { /* xorshift */
  who->random ^= who->random << 13;
  who->random ^= who->random >> 7;
  who->random ^= who->random << 17;
  return (unsigned)(who->random >> 11) % count;
}

/* ---- The model ---- */

static int normal(const owned *one, int value) {
  return one->type == PD_TYPE_bool ? value & 1 : value;
}

static int current(const owned *one) {
  if (one->depth) return one->overrides[one->depth - 1];
  return one->has_run ? one->run : one->has_argv ? one->argv : 0;
}

static const char *text_of(const owned *one, int value, char text[TEXT]) {
  const char *before = one->type == PD_TYPE_string ? "t" : "";
  const char *behind = one->type == PD_TYPE_double ? ".5" : "";
  if (one->type == PD_TYPE_bool) return value & 1 ? "true" : "false";
  snprintf(text, TEXT, "%s%d%s", before, value, behind);
  return text;
}

/* Whether the flag has the value, as text and in C. */
static bool has(const actor *who, const owned *one, int value) {
  char text[TEXT], shown[TEXT];
  pd_value got = {.u64 = 0};
  MUST_BE(who, pd_flag_get_text(one->flag, shown, sizeof shown, NULL, NULL), PD_OK);
  if (strcmp(shown, text_of(one, value, text)) != 0) return false;
  switch (one->type) {
    case PD_TYPE_bool:
      MUST_BE(who, pd_flag_get_bool(one->flag, &got.b, NULL), PD_OK);
      return got.b == (value & 1);
    case PD_TYPE_string:
      MUST_BE(who, pd_flag_get_string(one->flag, &got.str, NULL), PD_OK);
      return !strcmp(got.str, text);
    case PD_TYPE_double:
      MUST_BE(who, pd_flag_get_double(one->flag, &got.f64, NULL), PD_OK);
      return (int)got.f64 == value;
    default:
      MUST_BE(who, pd_flag_get_int64(one->flag, &got.i64, NULL), PD_OK);
      return got.i64 == value;
  }
}

static void watch(pd_flag *flag, void *context) {
  owned *one = context;
  if (flag != one->flag) fail(NULL, __LINE__, "a watcher of another flag");
  one->told++;
}

/* What was done to a flag took it from `before` to what the model says now. */
static void check(actor *who, owned *one, int before) {
  if (one->watcher && current(one) != before) one->due++;
  MUST(who, has(who, one, current(one)));
  MUST(who, one->told == one->due);
}

static bool refuse_one(const pd_flag_entry *const *entries, void *unused, char *why, size_t size) {
  (void)unused;
  snprintf(why, size, "expected no %d", REFUSED);
  return entries[0]->value.i64 != REFUSED;
}

/* The status that giving the flag a value must have. */
static pd_status expected(const owned *one, int value) {
  if (one->frozen) return PD_ERR_FROZEN;
  if (one->type == PD_TYPE_int64 && (value < -WIDEST || value > WIDEST)) return PD_ERR_RANGE;
  if (one->validator && value == REFUSED) return PD_ERR_REFUSED;
  return PD_OK;
}

static void give(owned *one, int value) {
  if (one->depth) {
    one->overrides[one->depth - 1] = normal(one, value);
  } else {
    one->has_run = true;
    one->run = normal(one, value);
  }
}

/* ---- Operations on flags of one's own ---- */

static owned *any_of(actor *who) { return &who->owned[pick(who, OWNED)]; }

/* Now and then out of range, and one that validators refuse. */
static int any_value(actor *who, const owned *one) {
  unsigned choice = pick(who, 20);
  if (choice == 0 && one->type == PD_TYPE_int64) return WIDEST + 1 + (int)pick(who, 9);
  if (choice == 1 && one->type == PD_TYPE_int64) return REFUSED;
  int value = (int)pick(who, WIDEST + 1);
  return one->type != PD_TYPE_double && pick(who, 2) ? -value : value;
}

static pd_status set_typed(const owned *one, int value, const char *text) {
  if (one->type == PD_TYPE_bool) return pd_flag_set_bool(one->flag, value & 1, NULL);
  if (one->type == PD_TYPE_string) return pd_flag_set_string(one->flag, text, NULL);
  if (one->type == PD_TYPE_double) return pd_flag_set_double(one->flag, value + 0.5, NULL);
  return pd_flag_set_int64(one->flag, value, NULL);
}

static void set(actor *who) {
  char text[TEXT];
  owned *one = any_of(who);
  int value = any_value(who, one), before = current(one);
  const char *as_text = text_of(one, value, text);
  unsigned way = pick(who, 3);
  pd_status status = way == 0   ? set_typed(one, value, as_text)
                     : way == 1 ? pd_flag_set_from_string(one->flag, as_text, NULL)
                                : pd_flag_set_by_name(one->name, as_text, NULL);
  MUST_BE(who, status, expected(one, value));
  if (status == PD_OK) give(one, value);
  check(who, one, before);
}

/* Two flags at once: both, or none. */
static void set_batch(actor *who) {
  char texts[2][TEXT];
  owned *pair[2] = {&who->owned[pick(who, 2)], &who->owned[2 + pick(who, 2)]};
  pd_assignment items[2] = {{.flag = pair[0]->flag}, {.flag = pair[1]->flag}};
  int values[2], before[2];
  pd_status right_status = PD_OK;
  for (int i = 0; i < 2; i++) {
    values[i] = any_value(who, pair[i]);
    before[i] = current(pair[i]);
    items[i].text = text_of(pair[i], values[i], texts[i]);
    pd_status alone = expected(pair[i], values[i]);
    /* Validators are asked when all else is right. */
    if (right_status == PD_OK || (right_status == PD_ERR_REFUSED && alone != PD_OK)) {
      right_status = alone;
    }
  }
  MUST_BE(who, pd_batch_set(items, 2, NULL, NULL, NULL), right_status);
  for (int i = 0; i < 2; i++) {
    if (right_status == PD_OK) give(pair[i], values[i]);
    check(who, pair[i], before[i]);
  }
}

static void reset(actor *who) {
  owned *one = any_of(who);
  int before = current(one);
  pd_status status = pd_flag_reset(one->flag, NULL);
  MUST_BE(who, status, one->frozen ? PD_ERR_FROZEN : PD_OK);
  if (status == PD_OK && one->depth) {
    one->overrides[one->depth - 1] = 0;
  } else if (status == PD_OK) {
    one->has_run = one->has_argv = false;
  }
  check(who, one, before);
}

static void push(actor *who) {
  char text[TEXT];
  owned *one = any_of(who);
  int value = any_value(who, one), before = current(one);
  pd_override override = 0;
  if (one->depth == LAYERS) return;
  pd_assignment item = {.flag = one->flag, .text = text_of(one, value, text)};
  pd_status status = pd_override_push(&item, 1, NULL, NULL, &override, NULL);
  MUST_BE(who, status, expected(one, value));
  if (status == PD_OK) {
    one->numbers[one->depth] = override;
    one->overrides[one->depth++] = normal(one, value);
  }
  check(who, one, before);
}

static void pop(actor *who) {
  owned *one = any_of(who);
  int before = current(one);
  if (!one->depth) return;
  int at = (int)pick(who, (unsigned)one->depth);
  pd_override override = one->numbers[at];
  MUST_BE(who, pd_override_pop(override, NULL), PD_OK);
  MUST_BE(who, pd_override_pop(override, NULL), PD_ERR_ARGUMENT);
  for (one->depth--; at < one->depth; at++) {
    one->overrides[at] = one->overrides[at + 1];
    one->numbers[at] = one->numbers[at + 1];
  }
  check(who, one, before);
}

static void freeze(actor *who) {
  owned *one = any_of(who);
  one->frozen = pick(who, 3) == 0;
  MUST_BE(who, (one->frozen ? pd_flag_freeze : pd_flag_unfreeze)(one->flag, NULL), PD_OK);
}

static void hook(actor *who) {
  owned *one = any_of(who);
  bool watcher = one->type != PD_TYPE_int64 || pick(who, 2);
  pd_hook *at = watcher ? &one->watcher : &one->validator;
  if (*at) {
    MUST_BE(who, pd_hook_remove(*at, NULL), PD_OK);
    *at = 0;
  } else if (watcher) {
    MUST_BE(who, pd_watcher_add(one->flag, watch, one, NULL, at, NULL), PD_OK);
  } else if (current(one) != REFUSED && one->argv != REFUSED && one->run != REFUSED) {
    for (int i = 0; i < one->depth; i++) {
      if (one->overrides[i] == REFUSED) return;
    }
    MUST_BE(who, pd_validator_add(&one->flag, 1, refuse_one, NULL, NULL, at, NULL), PD_OK);
  }
}

/* A command line asks the validators of everybody's flags: one may have a value that the
 * end of an override has shown, which its validator refuses; and what others set meanwhile may
 * go on changing for too long. */
static bool is_of_others(const owned *one, pd_status status, const pd_error *err) {
  return status == PD_ERR_REFUSED && !strstr(err->message, one->name);
}

static void parse(actor *who) {
  char text[TEXT], word[2 * TEXT + 4];
  owned *one = any_of(who);
  int value = any_value(who, one), before = current(one);
  snprintf(word, sizeof word, "--%s=%s", one->name, text_of(one, value, text));
  char *argv[] = {"stress", word, "argument", NULL};
  int argc = 3;
  pd_error err;
  pd_status status = pd_parse_argv(&argc, argv, NULL, &err);
  /* A hidden value isn't shown to validators. */
  bool hidden = one->depth || one->has_run;
  pd_status right_status = expected(one, value);
  if (right_status == PD_ERR_REFUSED && hidden) right_status = PD_OK;
  if (!is_of_others(one, status, &err)) MUST_BE(who, status, right_status);
  MUST(who, argc == (status == PD_OK ? 2 : 3));
  if (status == PD_OK) {
    one->has_argv = true;
    one->argv = normal(one, value);
  }
  check(who, one, before);
}

static void drop(actor *who) {
  owned *one = any_of(who);
  int before = current(one);
  pd_status status = pd_flag_drop(one->flag, PD_SOURCE_ARGV, NULL);
  MUST_BE(who, status, one->frozen && one->has_argv ? PD_ERR_FROZEN : PD_OK);
  if (status == PD_OK) one->has_argv = false;
  check(who, one, before);
}

/* ---- Operations on what all share ---- */

static bool refuse_unequal(const pd_flag_entry *const *entries, void *unused, char *why,
                           size_t size) {
  (void)unused;
  sched_yield(); /* others set the pair meanwhile */
  snprintf(why, size, "expected two equal numbers");
  return entries[0]->value.i64 == entries[1]->value.i64;
}

static void set_pair(actor *who) {
  int64_t value = pick(who, 1000);
  pd_error err;
  pd_assignment items[] = {{.flag = left, .type = PD_TYPE_int64, .value = {.i64 = value}},
                           {.flag = right, .type = PD_TYPE_int64, .value = {.i64 = value}}};
  pd_status status = pd_batch_set(items, 2, NULL, NULL, &err);
  bool unlucky = status == PD_ERR_REFUSED && strstr(err.message, "kept changing");
  if (!unlucky) MUST_BE(who, status, PD_OK);
  MUST_BE(who, pd_flag_get_int64(right, &value, NULL), PD_OK);
  status = pd_flag_set_int64(left, value, NULL); /* which right may no longer have */
  if (status != PD_ERR_REFUSED) MUST_BE(who, status, PD_OK);
  pd_error_list *errors = pd_error_list_new();
  status = pd_flags_validate(errors, NULL); /* an override that ended may show a refused value */
  if (status != PD_ERR_REFUSED) MUST_BE(who, status, PD_OK);
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    MUST(who, !strstr(pd_error_list_at(errors, i)->message, "two equal numbers"));
  }
  pd_error_list_free(errors);
}

static void set_shared(actor *who) {
  char text[] = "xxxxxxxx";
  const char *read;
  memset(text, 'a' + (int)pick(who, 26), 8);
  MUST_BE(who, pd_flag_set_string(shared, text, NULL), PD_OK);
  MUST_BE(who, pd_flag_get_string(shared, &read, NULL), PD_OK);
  MUST(who, strlen(read) == 8 && strspn(read, (char[]){*read, '\0'}) == 8);
}

/* A flag that others may define as well, or have defined. */
static void define(actor *who) {
  char name[TEXT];
  pd_flag_def def;
  pd_flag *made = NULL, *again = NULL;
  snprintf(name, sizeof name, "common_%u", pick(who, 200));
  pd_flag_def_init(&def, sizeof def, PD_TYPE_uint32);
  def.name = name;
  MUST_BE(who, pd_flag_register(&def, &made, NULL), PD_OK);
  MUST_BE(who, pd_flag_find(name, &again, NULL), PD_OK);
  MUST(who, made && made == again);
}

static void define_late(actor *who) {
  char name[TEXT], text[TEXT];
  pd_flag_def def;
  pd_flag *made = NULL;
  uint64_t value, last = pick(who, 1000);
  if (who->late == 500) return; /* names are for good */
  snprintf(name, sizeof name, "late_%d_%u", who->number, who->late++);
  snprintf(text, sizeof text, "%llu", (unsigned long long)last);
  MUST_BE(who, pd_pending_set(name, "1", NULL, NULL), PD_OK);
  MUST_BE(who, pd_pending_check(NULL, NULL), PD_ERR_UNDEFINED);
  MUST_BE(who, pd_pending_set(name, text, NULL, NULL), PD_OK);
  pd_flag_def_init(&def, sizeof def, PD_TYPE_uint64);
  def.name = name;
  MUST_BE(who, pd_flag_register(&def, &made, NULL), PD_OK);
  MUST_BE(who, pd_flag_get_uint64(made, &value, NULL), PD_OK);
  MUST(who, value == last);
}

static void load(actor *who) {
  pd_module *module = NULL;
  pd_flag *level;
  int32_t value;
  MUST_BE(who, pd_module_load(plugins[pick(who, 2)], NULL, &module, NULL), PD_OK);
  MUST_BE(who, pd_flag_find("join_level", &level, NULL), PD_OK);
  MUST_BE(who, pd_flag_set_int32(level, (int32_t)pick(who, 100), NULL), PD_OK);
  MUST_BE(who, pd_flag_set_int32(level, 100, NULL), PD_ERR_RANGE);
  MUST_BE(who, pd_flag_get_int32(level, &value, NULL), PD_OK);
  MUST(who, value >= 0 && value < 100);
  MUST_BE(who, pd_module_unload(module, NULL), PD_OK);
}

/* Flags of modules may be gone between two calls, and nothing else. */
static void list(actor *who) {
  pd_flag_info info = {.size = sizeof info};
  pd_module_info module = {.size = sizeof module};
  pd_pending_info pending = {.size = sizeof pending};
  for (pd_flag *flag = NULL; (flag = pd_flag_next(flag));) {
    char text[64];
    pd_status status = pd_flag_get_info(flag, &info, NULL);
    if (status != PD_ERR_UNDEFINED) MUST_BE(who, status, PD_OK);
    status = pd_flag_get_text(flag, text, sizeof text, NULL, NULL);
    if (status != PD_ERR_UNDEFINED) MUST_BE(who, status, PD_OK);
  }
  for (pd_module *each = NULL; (each = pd_module_next(each));) {
    MUST_BE(who, pd_module_get_info(each, &module, NULL), PD_OK);
  }
  for (size_t i = 0; pd_pending_get(i, &pending, NULL) == PD_OK; i++) MUST(who, *pending.name);
}

static void count(const char *text, size_t length, void *total) {
  (void)text;
  *(size_t *)total += length;
}

static void report(actor *who) {
  size_t total = 0;
  MUST_BE(who, pd_report_help(NULL, count, &total, NULL), PD_OK);
  MUST_BE(who, pd_report_flagfile(pick(who, 2), count, &total, NULL), PD_OK);
  MUST_BE(who, pd_report_json(NULL, count, &total, NULL), PD_OK);
  MUST(who, total > 0);
}

/* ---- Threads ---- */

static const struct {
  void (*run)(actor *who);
  unsigned share;
} operations[] = {{set, 30},        {set_batch, 10}, {reset, 5},      {push, 8},
                  {pop, 8},         {freeze, 4},     {hook, 5},       {parse, 3},
                  {drop, 3},        {set_pair, 5},   {set_shared, 8}, {define, 5},
                  {define_late, 2}, {load, 2},       {list, 1},       {report, 1}};

static void *act(void *context) {
  actor *who = context;
  unsigned all = 0;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) all += operations[i].share;
  while (time(NULL) < deadline) {
    unsigned choice = pick(who, all), at = 0;
    while (choice >= operations[at].share) choice -= operations[at++].share;
    operations[at].run(who);
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static pd_flag *define_as(pd_type type, const char *name) {
  pd_flag_def def;
  pd_flag *flag = NULL;
  pd_flag_def_init(&def, sizeof def, type);
  def.name = name;
  if (type == PD_TYPE_int64) def.min.i64 = -WIDEST;
  if (type == PD_TYPE_int64) def.max.i64 = WIDEST;
  if (type == PD_TYPE_string) def.default_value.str = "t0";
  if (type == PD_TYPE_double) def.default_value.f64 = 0.5;
  if (pd_flag_register(&def, &flag, NULL) != PD_OK) fail(NULL, __LINE__, "can't define %s", name);
  return flag;
}

static void begin(actor *who, int number) {
  static const pd_type types[OWNED] = {PD_TYPE_int64, PD_TYPE_string, PD_TYPE_bool, PD_TYPE_double};
  who->number = number;
  who->random = (seed + (unsigned)number + 1) * 0x9e3779b97f4a7c15u | 1;
  for (int i = 0; i < OWNED; i++) {
    owned *one = &who->owned[i];
    one->type = types[i];
    snprintf(one->name, sizeof one->name, "own_%d_%s", number, pd_type_name(types[i]));
    one->flag = define_as(types[i], one->name);
  }
}

int main(int argc, char **argv) {
  const char *given = getenv("STRESS_SEED"), *seconds = getenv("STRESS_SECONDS");
  if (argc != 3) return 2;
  seed = given ? strtoull(given, NULL, 10)
               : (unsigned long long)time(NULL) * 1000003 + (unsigned)clock();
  printf("STRESS_SEED=%llu\n", seed);
  fflush(stdout);
  deadline = time(NULL) + (seconds ? atoi(seconds) : 3);
  plugins = (const char *const *)argv + 1;
  left = define_as(PD_TYPE_int64, "pair_left");
  right = define_as(PD_TYPE_int64, "pair_right");
  shared = define_as(PD_TYPE_string, "shared");
  pd_flag *pair[] = {left, right};
  if (pd_validator_add(pair, 2, refuse_unequal, NULL, NULL, NULL, NULL) != PD_OK) return 1;
  for (int i = 0; i < THREADS; i++) begin(&actors[i], i);
  for (int i = 0; i < THREADS; i++) pthread_create(&actors[i].thread, NULL, act, &actors[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(actors[i].thread, NULL);
  printf("%u operations\ndone\n", done);
  return 0;
}
