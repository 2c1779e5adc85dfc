/* Flags that one thread owns: it sets them by every way there is, and knows their values and how
 * often their watchers were called. */
#include "stress.h"

/* A value of the model, -WIDEST to WIDEST, stands for one of each type. */
#define WIDEST 1000
#define REFUSED 13 /* by validators */

/* ---- The model ---- */

static int normalize(const owned_flag *one, int value) {
  return one->type == PD_TYPE_bool ? value & 1 : value;
}

static int current_value(const owned_flag *one) {
  if (one->depth) return one->overrides[one->depth - 1];
  return one->has_runtime ? one->runtime : one->has_argv ? one->argv : 0;
}

static const char *write_value(const owned_flag *one, int value, char text[TEXT_SIZE]) {
  const char *before = one->type == PD_TYPE_string ? "t" : "";
  const char *behind = one->type == PD_TYPE_double ? ".5" : "";
  if (one->type == PD_TYPE_bool) return value & 1 ? "true" : "false";
  snprintf(text, TEXT_SIZE, "%s%d%s", before, value, behind);
  return text;
}

/* Whether the flag has the value, as text and in C. */
static bool has_value(const actor *who, const owned_flag *one, int value) {
  char text[TEXT_SIZE], shown[TEXT_SIZE];
  pd_value got = {.u64 = 0};
  MUST_BE(who, pd_flag_get_text(one->flag, shown, sizeof shown, NULL, NULL), PD_OK);
  if (strcmp(shown, write_value(one, value, text)) != 0) return false;
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

static void count_notification(pd_flag *flag, void *context) {
  owned_flag *one = context;
  if (flag != one->flag) FAIL(NULL, "a watcher of another flag");
  one->notified++;
}

/* What was done to a flag took it from `before` to what the model says now. */
static void check_flag(actor *who, owned_flag *one, int before) {
  if (one->watcher && current_value(one) != before) one->notifications++;
  MUST(who, has_value(who, one, current_value(one)));
  MUST(who, one->notified == one->notifications);
}

static bool refuse_one(const pd_flag_entry *const *entries, void *unused, char *why, size_t size) {
  (void)unused;
  snprintf(why, size, "expected no %d", REFUSED);
  return entries[0]->value.i64 != REFUSED;
}

/* The status that giving the flag a value must have. */
static pd_status expected_status(const owned_flag *one, int value) {
  if (one->frozen) return PD_ERR_FROZEN;
  if (one->type == PD_TYPE_int64 && (value < -WIDEST || value > WIDEST)) return PD_ERR_RANGE;
  if (one->validator && value == REFUSED) return PD_ERR_REFUSED;
  return PD_OK;
}

static void note_set(owned_flag *one, int value) {
  if (one->depth) {
    one->overrides[one->depth - 1] = normalize(one, value);
  } else {
    one->has_runtime = true;
    one->runtime = normalize(one, value);
  }
}

/* ---- Operations on flags of one's own ---- */

static owned_flag *pick_owned(actor *who) { return &who->owned[pick_number(who, OWNED_FLAGS)]; }

/* Now and then out of range, and one that validators refuse. */
static int any_value(actor *who, const owned_flag *one) {
  unsigned choice = pick_number(who, 20);
  if (choice == 0 && one->type == PD_TYPE_int64) return WIDEST + 1 + (int)pick_number(who, 9);
  if (choice == 1 && one->type == PD_TYPE_int64) return REFUSED;
  int value = (int)pick_number(who, WIDEST + 1);
  return one->type != PD_TYPE_double && pick_number(who, 2) ? -value : value;
}

static pd_status set_typed(const owned_flag *one, int value, const char *text) {
  if (one->type == PD_TYPE_bool) return pd_flag_set_bool(one->flag, value & 1, NULL);
  if (one->type == PD_TYPE_string) return pd_flag_set_string(one->flag, text, NULL);
  if (one->type == PD_TYPE_double) return pd_flag_set_double(one->flag, value + 0.5, NULL);
  return pd_flag_set_int64(one->flag, value, NULL);
}

static const char *any_name(actor *who, const owned_flag *one) {
  return pick_number(who, 2) ? one->alias : one->name;
}

void set_owned(actor *who) {
  char text[TEXT_SIZE];
  owned_flag *one = pick_owned(who);
  int value = any_value(who, one), before = current_value(one);
  const char *as_text = write_value(one, value, text);
  unsigned way = pick_number(who, 3);
  pd_status status = way == 0   ? set_typed(one, value, as_text)
                     : way == 1 ? pd_flag_set_from_string(one->flag, as_text, NULL)
                                : pd_flag_set_by_name(any_name(who, one), as_text, NULL);
  MUST_BE(who, status, expected_status(one, value));
  if (status == PD_OK) note_set(one, value);
  check_flag(who, one, before);
}

/* Two flags at once: both, or none. */
void set_owned_batch(actor *who) {
  char texts[2][TEXT_SIZE];
  owned_flag *pair[2] = {&who->owned[pick_number(who, 2)], &who->owned[2 + pick_number(who, 2)]};
  pd_assignment items[2] = {{.flag = pair[0]->flag}, {.flag = pair[1]->flag}};
  int values[2], before[2];
  pd_status right_status = PD_OK;
  for (int i = 0; i < 2; i++) {
    values[i] = any_value(who, pair[i]);
    before[i] = current_value(pair[i]);
    items[i].text = write_value(pair[i], values[i], texts[i]);
    pd_status alone = expected_status(pair[i], values[i]);
    /* Validators are asked when all else is right. */
    if (right_status == PD_OK || (right_status == PD_ERR_REFUSED && alone != PD_OK)) {
      right_status = alone;
    }
  }
  MUST_BE(who, pd_batch_set(items, 2, NULL, NULL, NULL), right_status);
  for (int i = 0; i < 2; i++) {
    if (right_status == PD_OK) note_set(pair[i], values[i]);
    check_flag(who, pair[i], before[i]);
  }
}

void reset_owned(actor *who) {
  owned_flag *one = pick_owned(who);
  int before = current_value(one);
  pd_status status = pd_flag_reset(one->flag, NULL);
  MUST_BE(who, status, one->frozen ? PD_ERR_FROZEN : PD_OK);
  if (status == PD_OK && one->depth) {
    one->overrides[one->depth - 1] = 0;
  } else if (status == PD_OK) {
    one->has_runtime = one->has_argv = false;
  }
  check_flag(who, one, before);
}

void push_override(actor *who) {
  char text[TEXT_SIZE];
  owned_flag *one = pick_owned(who);
  int value = any_value(who, one), before = current_value(one);
  pd_override override = 0;
  if (one->depth == OVERRIDES) return;
  pd_assignment item = {.flag = one->flag, .text = write_value(one, value, text)};
  pd_status status = pd_override_push(&item, 1, NULL, NULL, &override, NULL);
  MUST_BE(who, status, expected_status(one, value));
  if (status == PD_OK) {
    one->override_numbers[one->depth] = override;
    one->overrides[one->depth++] = normalize(one, value);
  }
  check_flag(who, one, before);
}

void pop_override(actor *who) {
  owned_flag *one = pick_owned(who);
  int before = current_value(one);
  if (!one->depth) return;
  int at = (int)pick_number(who, (unsigned)one->depth);
  pd_override override = one->override_numbers[at];
  MUST_BE(who, pd_override_pop(override, NULL), PD_OK);
  MUST_BE(who, pd_override_pop(override, NULL), PD_ERR_ARGUMENT);
  for (one->depth--; at < one->depth; at++) {
    one->overrides[at] = one->overrides[at + 1];
    one->override_numbers[at] = one->override_numbers[at + 1];
  }
  check_flag(who, one, before);
}

void freeze_owned(actor *who) {
  owned_flag *one = pick_owned(who);
  one->frozen = pick_number(who, 3) == 0;
  MUST_BE(who, (one->frozen ? pd_flag_freeze : pd_flag_unfreeze)(one->flag, NULL), PD_OK);
}

void hook_owned(actor *who) {
  owned_flag *one = pick_owned(who);
  bool watcher = one->type != PD_TYPE_int64 || pick_number(who, 2);
  pd_hook *at = watcher ? &one->watcher : &one->validator;
  if (*at) {
    MUST_BE(who, pd_hook_remove(*at, NULL), PD_OK);
    *at = 0;
  } else if (watcher) {
    MUST_BE(who, pd_watcher_add(one->flag, count_notification, one, NULL, at, NULL), PD_OK);
  } else if (current_value(one) != REFUSED && one->argv != REFUSED && one->runtime != REFUSED) {
    for (int i = 0; i < one->depth; i++) {
      if (one->overrides[i] == REFUSED) return;
    }
    MUST_BE(who, pd_validator_add(&one->flag, 1, refuse_one, NULL, NULL, at, NULL), PD_OK);
  }
}

/* A command line asks the validators of everybody's flags: one may have a value that the
 * end of an override has shown, which its validator refuses; and what others set meanwhile may
 * go on changing for too long. */
static bool is_about_others(const owned_flag *one, pd_status status, const pd_error *err) {
  return status == PD_ERR_REFUSED && !strstr(err->message, one->name);
}

void parse_line(actor *who) {
  char text[TEXT_SIZE], word[2 * TEXT_SIZE + 4];
  owned_flag *one = pick_owned(who);
  int value = any_value(who, one), before = current_value(one);
  snprintf(word, sizeof word, "--%s=%s", one->name, write_value(one, value, text));
  char *argv[] = {"stress", word, "argument", NULL};
  int argc = 3;
  pd_error err;
  pd_status status = pd_parse_argv(&argc, argv, NULL, &err);
  /* A hidden value isn't shown to validators. */
  bool hidden = one->depth || one->has_runtime;
  pd_status right_status = expected_status(one, value);
  if (right_status == PD_ERR_REFUSED && hidden) right_status = PD_OK;
  if (!is_about_others(one, status, &err)) MUST_BE(who, status, right_status);
  MUST(who, argc == (status == PD_OK ? 2 : 3));
  if (status == PD_OK) {
    one->has_argv = true;
    one->argv = normalize(one, value);
  }
  check_flag(who, one, before);
}

void drop_argv(actor *who) {
  owned_flag *one = pick_owned(who);
  int before = current_value(one);
  pd_status status = pd_flag_drop(one->flag, PD_SOURCE_ARGV, NULL);
  MUST_BE(who, status, one->frozen && one->has_argv ? PD_ERR_FROZEN : PD_OK);
  if (status == PD_OK) one->has_argv = false;
  check_flag(who, one, before);
}

/* ---- Between two rounds ---- */

void define_owned(actor *who) {
  static const pd_type types[] = {PD_TYPE_int64, PD_TYPE_string, PD_TYPE_bool, PD_TYPE_double};
  for (int i = 0; i < OWNED_FLAGS; i++) {
    owned_flag *one = &who->owned[i];
    pd_flag_def def;
    one->type = types[i];
    snprintf(one->name, sizeof one->name, "own_%d_%s", who->number, pd_type_name(types[i]));
    snprintf(one->alias, sizeof one->alias, "alias_%d_%s", who->number, pd_type_name(types[i]));
    pd_flag_def_init(&def, sizeof def, types[i]);
    def.name = one->name;
    def.aliases = one->alias;
    if (types[i] == PD_TYPE_int64) def.min.i64 = -WIDEST;
    if (types[i] == PD_TYPE_int64) def.max.i64 = WIDEST;
    if (types[i] == PD_TYPE_string) def.default_value.str = "t0";
    if (types[i] == PD_TYPE_double) def.default_value.f64 = 0.5;
    MUST_BE(NULL, pd_flag_register(&def, &one->flag, NULL), PD_OK);
  }
}

void check_owned(actor *who) {
  for (int i = 0; i < OWNED_FLAGS; i++) {
    owned_flag *one = &who->owned[i];
    check_flag(who, one, current_value(one));
  }
}

static void change_all(const actor *who) {
  char text[TEXT_SIZE];
  for (int i = 0; i < OWNED_FLAGS; i++) {
    const owned_flag *one = &who->owned[i];
    const char *other = write_value(one, current_value(one) ? 0 : 1, text);
    pd_status status = pd_flag_set_from_string(one->flag, other, NULL);
    MUST_BE(who, status, one->frozen ? PD_ERR_FROZEN : PD_OK);
  }
}

/* What was changed since a snapshot is as it was after it is restored. */
void check_snapshot(actor *actors) {
  pd_snapshot *snapshot = NULL;
  MUST_BE(NULL, pd_snapshot_take(&snapshot, NULL), PD_OK);
  for (int i = 0; i < THREADS; i++) change_all(&actors[i]);
  MUST_BE(NULL, pd_snapshot_restore(snapshot, NULL), PD_OK);
  if (pd_snapshot_next_change(snapshot, NULL)) FAIL(NULL, "a restored snapshot differs");
  pd_snapshot_free(snapshot);
  for (int i = 0; i < THREADS; i++) {
    for (int k = 0; k < OWNED_FLAGS; k++) {
      owned_flag *one = &actors[i].owned[k];
      bool notified = one->watcher && !one->frozen; /* of the change, and of its end */
      one->notifications += notified ? 2 : 0;
    }
    check_owned(&actors[i]);
  }
}

/* ---- In the child of a fork ---- */

void check_child_owned(actor *who) {
  check_owned(who);
  for (int i = 0; i < 20; i++) set_owned(who);
}
