#include "words.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "flagfile.h"
#include "../platform/platform.h"
#include "config.h"

struct pd__owned {
  pd__owned *next;
  void *memory;
};

void *pd__words_own(pd__words *words, void *memory) {
  pd__owned *owned = memory ? malloc(sizeof *owned) : NULL;
  if (!owned) {
    free(memory);
    words->given.out_of_memory = true;
    return NULL;
  }
  *owned = (pd__owned){words->owned, memory};
  words->owned = owned;
  return memory;
}

void pd__words_free(pd__words *words) {
  while (words->owned) {
    pd__owned *owned = words->owned;
    words->owned = owned->next;
    free(owned->memory);
    free(owned);
  }
}

void pd__words_close(pd__words *words, const pd__item *item, pd_status status, const char *why) {
  char shown[PD__SOURCE_SIZE];
  words->closed = true;
  pd__given_fail(&words->given, status, "%s: %s", pd__item_shown(item, shown), why);
}

bool pd__words_count(pd__words *words, const pd__item *item) {
  if (++words->values <= PD__VALUES_MOST) return true;
  pd__words_close(words, item, PD_ERR_FILE, "files and variables give more than 1000000 values");
  return false;
}

static bool is_named(const pd__item *item, const char *name) {
  return item->length == strlen(name) && !strncmp(item->name, name, item->length);
}

static char *copy(pd__words *words, const char *text, size_t length) {
  char *made = pd__words_own(words, malloc(length + 1));
  if (!made) return NULL;
  memcpy(made, text, length);
  made[length] = '\0';
  return made;
}

static int leads_to(const pd__item *item);

/* ---- Help ---- */

static const char help_names[][12] = {
#define HELP_NAME(name, number, text) [PD_HELP_##name] = text,
    PD_HELP_MAP(HELP_NAME)};

static bool has_pattern(int kind) { return kind == PD_HELP_ON || kind == PD_HELP_MATCH; }

/* Which help the item is about, or -1; `negated`: as --nohelp. */
static int help_kind(const pd__item *item, bool *negated) {
  pd__item positive = *item;
  *negated = item->length > 2 && !strncmp(item->name, "no", 2);
  if (*negated) {
    positive.name += 2;
    positive.length -= 2;
  }
  for (int kind = 0; kind < PD__HELP_KINDS; kind++) {
    if (is_named(&positive, help_names[kind]) && !(*negated && has_pattern(kind))) return kind;
  }
  return !item->text && is_named(item, "h") ? PD_HELP_ALL : -1;
}

bool pd__words_know(const pd__item *item) {
  bool negated;
  pd__meaning meaning = pd__item_resolve(item);
  if (meaning.flag) return !meaning.negated || pd__flag_def(meaning.flag)->type == PD_TYPE_bool;
  return leads_to(item) >= 0 || help_kind(item, &negated) >= 0;
}

/* Without a flag of its name, the item may be a word for help; false: it isn't. */
static bool take_help(pd__words *words, const pd__item *item) {
  bool negated;
  int kind = help_kind(item, &negated);
  char shown[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE];
  static const pd_flag_def truth = {.type = PD_TYPE_bool};
  pd_value value = {.b = !negated};
  if (kind < 0) return false;
  if (has_pattern(kind)) {
    if (!item->text) {
      pd__given_fail(&words->given, PD_ERR_ARGV,
                     "%s: the value is missing, expected a part of a source file's name",
                     pd__item_shown(item, shown));
    }
    words->help[kind] = item->text && *item->text ? item->text : NULL;
  } else if (item->text && negated) {
    pd__given_fail(&words->given, PD_ERR_ARGV, "%s: takes no value", pd__item_shown(item, shown));
  } else if (item->text && pd__value_read(&truth, item->text, &value) != PD_OK) {
    pd__given_fail(&words->given, PD_ERR_VALUE, "%s=%s: expected true or false",
                   pd__item_shown(item, shown), pd__quote(quoted, item->text));
  } else {
    words->help[kind] = value.b ? "" : NULL;
  }
  return true;
}

bool pd__words_help(const pd__words *words, pd_help *help) {
  /* As gflags chooses among several. */
  static const uint8_t order[PD__HELP_KINDS] = {PD_HELP_SHORT, PD_HELP_ALL,    PD_HELP_FULL,
                                                PD_HELP_ON,    PD_HELP_MATCH,  PD_HELP_PACKAGE,
                                                PD_HELP_XML,   PD_HELP_VERSION};
  for (int i = 0; i < PD__HELP_KINDS; i++) {
    if (!words->help[order[i]]) continue;
    help->kind = order[i];
    help->pattern = words->help[order[i]];
    return true;
  }
  return false;
}

/* ---- Other places ---- */

typedef void user(pd__words *words, const pd__item *item, const char *text, size_t length);

/* What is wrong with a list such as a,b, or NULL. A comma may end it. */
static const char *complaint_about(const char *list) {
  for (bool more = *list != '\0'; more;) {
    size_t length = strcspn(list, ",");
    if (length == 0) return "an item of the list is empty";
    if (*list == '-') return "an item of the list begins with a dash";
    list += length;
    more = list[0] && list[1];
    if (more) list++;
  }
  return NULL;
}

static void use_name(pd__words *words, const pd__item *item, const char *text, size_t length) {
  (void)item;
  for (; length > 0 && *text == '-'; length--) text++;
  if (!pd__undefok_add(&words->given.undefok, text, length)) words->given.out_of_memory = true;
}

static void each_item(pd__words *words, const pd__item *item, user *use) {
  char shown[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE];
  const char *complaint = complaint_about(item->text);
  if (complaint) {
    pd__given_fail(&words->given, PD_ERR_ARGV, "%s=%s: %s", pd__item_shown(item, shown),
                   pd__quote(quoted, item->text), complaint);
    if (use != use_name) return; /* names are excused all the same: one slip, one error */
  }
  for (const char *at = item->text; *at;) {
    size_t length = strcspn(at, ",");
    use(words, item, at, length);
    at += length;
    at += *at == ',';
  }
}

static void use_file(pd__words *words, const pd__item *item, const char *text, size_t length) {
  const char *path = words->closed ? NULL : copy(words, text, length);
  if (path) pd__flagfile_read(words, path, item);
}

/* The item that a variable is. What config keep is said by their file. */
static void take_variable(pd__words *words, const char *variable, pd__item *item,
                          const char *text) {
  if (!words->config) {
    const char *place = copy(words, variable, strlen(variable));
    item->origin = (pd_origin){PD_SOURCE_ARGV, 0, place, 0};
  }
  item->text = copy(words, text, strlen(text)); /* the program may change it */
  if (!words->given.out_of_memory) pd__words_take(words, item, item->name);
}

static bool is_known(const pd__words *words, const pd__item *item) {
  return words->config || words->given.allow_pending || pd__words_know(item);
}

static void use_variable(pd__words *words, const pd__item *by, const char *name, size_t length,
                         bool required) {
  char variable[PD__VARIABLE_SIZE], shown[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE];
  pd__item item = {.dashes = "--", .name = name, .length = length, .origin = by->origin};
  if (words->closed || !pd__words_count(words, by)) return;
  pd__meaning meaning = pd__item_resolve(&item);
  if (meaning.negated) {
    pd__given_fail(&words->given, PD_ERR_UNDEFINED, "%s: no flag is named '%.*s', it negates one",
                   pd__item_shown(by, shown), (int)length, name);
    return;
  }
  pd__environment_variable(words->prefix, name, length, variable);
  const char *text = pd__platform_getenv(variable);
  if (!is_known(words, &item)) {
    item.dashes = required ? "--fromenv=" : "--tryfromenv=";
    pd__given_take(&words->given, &item, &meaning);
  } else if (text) {
    take_variable(words, variable, &item, text);
  } else if (required) {
    pd__given_fail(&words->given, PD_ERR_ARGV, "%s: the environment has no %s",
                   pd__item_shown(by, shown), pd__quote(quoted, variable));
  }
}

static void use_from(pd__words *words, const pd__item *by, const char *name, size_t length) {
  use_variable(words, by, name, length, true);
}

static void use_try_from(pd__words *words, const pd__item *by, const char *name, size_t length) {
  use_variable(words, by, name, length, false);
}

static const struct {
  char name[12];
  char expected[16];
  user *use;
} leading[] = {{"flagfile", "paths of files", use_file},
               {"fromenv", "names of flags", use_from},
               {"tryfromenv", "names of flags", use_try_from},
               {"undefok", "names of flags", use_name}};
#define LEADS_NOWHERE 3 /* undefok: config keep it for the time when they apply */

static int leads_to(const pd__item *item) {
  int kind = (int)(sizeof leading / sizeof *leading) - 1;
  while (kind >= 0 && !is_named(item, leading[kind].name)) kind--;
  return kind;
}

static void take_leading(pd__words *words, const pd__item *item, int kind) {
  char shown[PD__SOURCE_SIZE];
  if (!item->text) {
    pd__given_fail(&words->given, PD_ERR_ARGV,
                   "%s: the value is missing, expected %s with commas between",
                   pd__item_shown(item, shown), leading[kind].expected);
  } else if (words->depth == PD__DEPTH_MOST && kind != LEADS_NOWHERE) {
    pd__words_close(words, item, PD_ERR_DEPTH,
                    "stands 16 files and variables deep already, perhaps in a circle");
  } else {
    words->depth++;
    each_item(words, item, leading[kind].use);
    words->depth--;
  }
}

bool pd__words_is_excuse(const pd__item *item) {
  return *item->dashes && leads_to(item) == LEADS_NOWHERE;
}

void pd__words_excuse(pd__words *words, const pd__item *item) {
  take_leading(words, item, LEADS_NOWHERE);
}

/* ---- Words ---- */

/* "--=5" and "---x": no name can be like that, though `-` and `_` are alike. */
static bool is_malformed(pd__words *words, const pd__item *item, const char *word) {
  char quoted[PD__QUOTE_SIZE], place[PD__PLACE_SIZE], shown[PD__SOURCE_SIZE];
  if (item->length > 0 && *item->name != '-') return false;
  if (item->length > 0) {
    pd__given_fail(&words->given, PD_ERR_ARGV,
                   "%s: expected one or two dashes before the name of a flag",
                   pd__item_shown(item, shown));
  } else {
    pd__given_fail(&words->given, PD_ERR_ARGV, "%s%s: expected the name of a flag%s",
                   pd__place_of(&item->origin, place), pd__quote(quoted, word),
                   item->text ? " before the =" : "");
  }
  return true;
}

bool pd__words_wants(const pd__item *item, const pd__meaning *meaning) {
  bool negated;
  if (item->text) return false;
  if (meaning->flag) return !meaning->negated && pd__flag_def(meaning->flag)->type != PD_TYPE_bool;
  return leads_to(item) >= 0 || has_pattern(help_kind(item, &negated));
}

void pd__words_take_as(pd__words *words, const pd__item *item, const pd__meaning *meaning,
                       const char *word) {
  pd_error err;
  if (is_malformed(words, item, word)) return;
  int kind = meaning->flag ? -1 : leads_to(item); /* no flag is named as a word that leads */
  if (kind >= 0 && !(words->config && kind == LEADS_NOWHERE)) {
    take_leading(words, item, kind);
  } else if (words->config) {
    if (pd__settings_append(words->config, item, &err) != PD_OK) {
      words->given.out_of_memory = true;
    }
  } else if (meaning->flag || !take_help(words, item)) {
    pd__given_take(&words->given, item, meaning);
  }
}

void pd__words_take(pd__words *words, const pd__item *item, const char *word) {
  pd__meaning meaning = {NULL, NULL, false}; /* for config: it may be another one then */
  if (!words->config) meaning = pd__item_resolve(item);
  pd__words_take_as(words, item, &meaning, word);
}
