#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "flagfile.h"
#include "../platform/platform.h"

/* One value, with its text behind it. */
typedef struct setting {
  pd__item item;
  struct setting *next;
  char text[];
} setting;

struct pd_config {
  setting *first, **end;
};

pd_config *pd__do_config_new(void) {
  pd_config *config = calloc(1, sizeof *config);
  if (config) config->end = &config->first;
  return config;
}

void pd__do_config_free(pd_config *config) {
  if (!config) return;
  while (config->first) {
    setting *each = config->first;
    config->first = each->next;
    free(each);
  }
  free(config);
}

static char *put(char *at, const char *text, size_t length) {
  memcpy(at, text, length);
  at[length] = '\0';
  return at + length + 1;
}

pd_status pd__settings_append(pd_config *config, const pd__item *item, pd_error *err) {
  size_t text = item->text ? strlen(item->text) : 0;
  size_t place = item->origin.place ? strlen(item->origin.place) : 0;
  setting *made = malloc(sizeof *made + item->length + text + place + 3);
  if (!made) return pd__fail_memory(err);
  *made = (setting){.item = *item};
  char *at = made->text;
  made->item.name = at;
  at = put(at, item->name, item->length);
  if (item->text) {
    made->item.text = at;
    at = put(at, item->text, text);
  }
  if (item->origin.place) {
    made->item.origin.place = at;
    put(at, item->origin.place, place);
  }
  made->item.origin.source = PD_SOURCE_FILE;
  *config->end = made;
  config->end = &made->next;
  return PD_OK;
}

pd_status pd__do_config_add(pd_config *config, const char *name, const char *text,
                              uint32_t literal, const pd_origin *origin, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  if (!name) return pd__fail_null(err, "name");
  if (!text) return pd__fail_null(err, "text");
  if (literal && !pd__literal_known(literal)) {
    return pd__fail(err, PD_ERR_ARGUMENT, "literal is %u, expected 0, a pd_type, or one for a list",
                    (unsigned)literal);
  }
  pd__item item = {.dashes = "",
                   .name = name,
                   .length = strlen(name),
                   .text = text,
                   .literal = literal,
                   .origin = origin ? *origin : (pd_origin){PD_SOURCE_FILE, 0, NULL, 0}};
  return pd__settings_append(config, &item, err);
}

pd_status pd__do_config_fail(pd_config *config, const pd_error *error, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  if (!error) return pd__fail_null(err, "error");
  if (error->status == PD_OK) return pd__fail(err, PD_ERR_ARGUMENT, "error->status is PD_OK");
  pd__item item = {.dashes = "", .name = "", .text = error->message, .status = error->status};
  return pd__settings_append(config, &item, err);
}

/* ---- Applying ---- */

/* A flag that is closed by now must not be refused what it has taken before: then
 * the last of the values that name it is the one that it has. */
static bool stands(const pd_flag *flag) {
  const pd__item *item = pd__flag_extra(flag)->mark;
  if (!item || pd__flag_check_open(flag, &item->origin, NULL) == PD_OK) return false;
  const char *text = item->text ? item->text : pd__item_resolve(item).negated ? "false" : "true";
  return pd__flag_has(flag, PD_SOURCE_FILE, text);
}

/* Mark each flag with the last item that names it. False: a file has an error, so
 * nobody knows what it would have said. */
static bool mark(const pd_config *config, pd__given *given) {
  bool whole = true;
  for (const setting *each = config->first; each; each = each->next) {
    pd_flag *flag = pd__item_resolve(&each->item).flag;
    pd__extra *extra = flag ? pd__flag_make_extra(flag) : NULL;
    if (extra) extra->mark = &each->item;
    if (flag && !extra) given->out_of_memory = true;
    if (each->item.status != PD_OK) whole = false;
  }
  return whole;
}

/* Old values go before new ones come: they weren't replaced by later ones of the same
 * files, but are no longer true. */
static void drop_old(pd__given *given) {
  pd_flag *flag;
  for (uint32_t i = 0; (flag = pd__names_at(i)); i++) {
    const pd__item *item = pd__flag_extra(flag)->mark;
    bool drops = !item || pd__flag_check_open(flag, &item->origin, NULL) == PD_OK;
    if (flag->defined && drops) pd__given_drop_source(given, flag, PD_SOURCE_FILE);
  }
}

static void unmark(void) {
  pd_flag *flag;
  for (uint32_t i = 0; (flag = pd__names_at(i)); i++) {
    if (flag->has_extra) flag->more.extra->mark = NULL;
  }
}

void pd__settings_give(const pd_config *config, pd__words *words) {
  words->given.renews_files = true;
  if (mark(config, &words->given)) drop_old(&words->given);
  for (const setting *each = config->first; each; each = each->next) {
    pd__meaning meaning = pd__item_resolve(&each->item);
    if (pd__words_is_excuse(&each->item)) {
      pd__words_excuse(words, &each->item);
    } else if (!meaning.flag || !stands(meaning.flag)) {
      pd__given_take(&words->given, &each->item, &meaning);
    }
  }
  unmark();
}

pd_status pd__do_config_apply(const pd_config *config, bool allow_pending,
                                pd_error_list *errors, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  pd__words words = {.given.report = {.list = errors, .first = err}};
  words.given.allow_pending = allow_pending;
  pd__platform_lock();
  pd__settings_give(config, &words);
  pd_status status = pd__given_finish(&words.given);
  pd__platform_unlock();
  pd__tell();
  return status;
}

/* ---- From flagfiles ---- */

static void drop_from(pd_config *config, setting **end) {
  while (*end) {
    setting *each = *end;
    *end = each->next;
    free(each);
  }
  config->end = end;
}

pd_status pd__do_config_add_flagfile(pd_config *config, const char *path, const char *program,
                                       pd_error_list *errors, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  if (!path) return pd__fail_null(err, "path");
  setting **end = config->end;
  pd__words words = {.config = config, .program = program, .prefix = "FLAGS_"};
  words.given.report = (pd__report){.list = errors, .first = err};
  pd__item nobody = {.dashes = ""};
  pd__platform_lock();
  pd__flagfile_read(&words, path, &nobody);
  pd_status status = pd__given_finish(&words.given);
  pd__words_free(&words);
  pd__platform_unlock();
  if (status != PD_OK) drop_from(config, end);
  return status;
}
