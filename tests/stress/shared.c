/* What all threads change: two flags that are equal in the eyes of their validator, a text, values
 * of a file, definitions; and reports of everything. */
#include "stress.h"

static pd_flag *left, *right, *shared, *configured;

static pd_flag *define_flag(pd_type type, const char *name) {
  pd_flag_def def;
  pd_flag *flag = NULL;
  pd_flag_def_init(&def, sizeof def, type);
  def.name = name;
  MUST_BE(NULL, pd_flag_register(&def, &flag, NULL), PD_OK);
  return flag;
}

static bool refuse_unequal(const pd_flag_entry *const *entries, void *unused, char *why,
                           size_t size) {
  (void)unused;
  sched_yield(); /* others set the pair meanwhile */
  snprintf(why, size, "expected two equal numbers");
  return entries[0]->value.i64 == entries[1]->value.i64;
}

void set_pair(actor *who) {
  int64_t value = pick_number(who, 1000);
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

void set_shared_text(actor *who) {
  char text[] = "xxxxxxxx";
  const char *read;
  memset(text, 'a' + (int)pick_number(who, 26), 8);
  MUST_BE(who, pd_flag_set_string(shared, text, NULL), PD_OK);
  MUST_BE(who, pd_flag_get_string(shared, &read, NULL), PD_OK);
  MUST(who, strlen(read) == 8 && strspn(read, (char[]){*read, '\0'}) == 8);
}

/* A flag that others may define as well, or have defined. */
void define_common(actor *who) {
  char name[TEXT_SIZE];
  pd_flag_def def;
  pd_flag *made = NULL, *again = NULL;
  snprintf(name, sizeof name, "common_%u", pick_number(who, 200));
  pd_flag_def_init(&def, sizeof def, PD_TYPE_uint32);
  def.name = name;
  MUST_BE(who, pd_flag_register(&def, &made, NULL), PD_OK);
  MUST_BE(who, pd_flag_find(name, &again, NULL), PD_OK);
  MUST(who, made && made == again);
}

void define_pending(actor *who) {
  char name[TEXT_SIZE], text[TEXT_SIZE];
  pd_flag_def def;
  pd_flag *made = NULL;
  uint64_t value, last = pick_number(who, 1000);
  if (who->pending_names == 500) return; /* a name stays, defined or not */
  snprintf(name, sizeof name, "pending_%d_%u", who->number, who->pending_names++);
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

/* Flags of modules may be gone between two calls, and nothing else. */
void list_all(actor *who) {
  pd_flag_info info = {.size = sizeof info};
  pd_module_info module = {.size = sizeof module};
  pd_pending_info pending = {.size = sizeof pending};
  for (pd_flag *flag = NULL; (flag = pd_flag_next(flag));) {
    char text[TEXT_SIZE];
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

static void add_length(const char *text, size_t length, void *total) {
  (void)text;
  *(size_t *)total += length;
}

void write_reports(actor *who) {
  size_t total = 0;
  MUST_BE(who, pd_report_help(NULL, add_length, &total, NULL), PD_OK);
  MUST_BE(who, pd_report_flagfile(pick_number(who, 2), add_length, &total, NULL), PD_OK);
  MUST_BE(who, pd_report_json(NULL, add_length, &total, NULL), PD_OK);
  MUST(who, total > 0);
}

/* Of other threads' changes, every one may be there. */
void compare_snapshot(actor *who) {
  pd_snapshot *snapshot = NULL;
  MUST_BE(who, pd_snapshot_take(&snapshot, NULL), PD_OK);
  sched_yield();
  for (pd_flag *at = NULL; (at = pd_snapshot_next_change(snapshot, at));) sched_yield();
  for (pd_flag *at = NULL; (at = pd_snapshot_next_definition(snapshot, at));) sched_yield();
  pd_snapshot_free(snapshot);
}

/* The values of files are those of one thread. */
void apply_config(actor *who) {
  char text[TEXT_SIZE];
  pd_config *config = NULL;
  uint32_t value = 0;
  snprintf(text, sizeof text, "%u", 1 + pick_number(who, 9));
  MUST_BE(who, pd_config_new(PD_SOURCE_FILE, &config, NULL), PD_OK);
  MUST_BE(who, pd_config_add(config, "configured", text, 0, NULL, NULL), PD_OK);
  MUST_BE(who, pd_config_apply(config, false, NULL, NULL), PD_OK);
  pd_config_free(config);
  MUST_BE(who, pd_flag_get_uint32(configured, &value, NULL), PD_OK);
  MUST(who, value >= 1 && value <= 9);
}

void define_shared(void) {
  left = define_flag(PD_TYPE_int64, "pair_left");
  right = define_flag(PD_TYPE_int64, "pair_right");
  shared = define_flag(PD_TYPE_string, "shared");
  configured = define_flag(PD_TYPE_uint32, "configured");
  pd_flag *pair[] = {left, right};
  MUST_BE(NULL, pd_validator_add(pair, 2, refuse_unequal, NULL, NULL, NULL, NULL), PD_OK);
}
