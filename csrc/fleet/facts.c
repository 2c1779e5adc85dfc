/* The flags of this process, as others may see them. */
#include "facts.h"

#include <fnmatch.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hmac.h"
#include "store.h"

extern char **environ;

enum { LONGEST = 200 }; /* characters of a value */

/* ---- Text ---- */

/* The bytes of the first characters. */
static size_t bytes_of(const char *text, size_t characters) {
  size_t at = 0;
  while (text[at]) {
    if (((unsigned char)text[at] & 0xC0) != 0x80 && characters-- == 0) break;
    at++;
  }
  return at;
}

json_t *pd__short_text(const char *text) {
  json_t *whole = pd__json_text(text);
  const char *shown = json_string_value(whole);
  size_t length = shown ? bytes_of(shown, LONGEST) : 0;
  if (!shown || !shown[length]) return whole;
  char digest[SHA256_DIGEST_STRING_LENGTH];
  size_t size = strlen(text);
  SHA256Data((const uint8_t *)text, size, digest);
  json_t *made =
      json_sprintf("%.*s... (%zu bytes, sha256 %.16s)", (int)length, shown, size, digest);
  json_decref(whole);
  return made;
}

static void add_with_nul(SHA2_CTX *sha, const char *text) {
  SHA256Update(sha, (const uint8_t *)text, strlen(text) + 1);
}

void pd__digest(const json_t *values, const json_t *without, char out[PD__DIGEST_SIZE]) {
  char digits[SHA256_DIGEST_STRING_LENGTH];
  SHA2_CTX sha;
  const char **names = pd__json_sorted(values);
  SHA256Init(&sha);
  for (size_t at = 0; names && names[at]; at++) {
    const json_t *value = json_object_get(values, names[at]);
    const char *text = json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);
    if (!text || pd__names_have(without, names[at])) continue;
    add_with_nul(&sha, names[at]);
    add_with_nul(&sha, text);
  }
  free(names);
  snprintf(out, PD__DIGEST_SIZE, "%.16s", SHA256End(&sha, digits));
}

/* ---- Flags ---- */

/* The value as text; free it. NULL: the flag has left with its module, or memory is out. */
static char *text_of(const pd_flag *flag) {
  size_t size = 256, length = 0;
  for (;;) {
    char *text = malloc(size);
    if (!text || pd_flag_get_text(flag, text, size, &length, NULL) != PD_OK) {
      free(text);
      return NULL;
    }
    if (length < size) return text;
    free(text);
    size = length + 1;
  }
}

static json_t *place_of(const pd_flag *flag, const pd_flag_info *info) {
  char text[1200];
  pd_flag_entry entry = {.size = sizeof entry};
  if (info->source == PD_SOURCE_DEFAULT || pd_flag_get_entry(flag, 0, &entry, NULL) != PD_OK) {
    return json_string("");
  }
  const pd_origin *origin = &entry.origin;
  size_t at = 0;
  text[0] = '\0';
  if (!origin->place || !*origin->place) {
    if (origin->source == PD_SOURCE_ARGV) snprintf(text, sizeof text, "argv[%u]", origin->line);
    return json_string(text);
  }
  at += (size_t)snprintf(text, sizeof text, "%.1000s", origin->place);
  const char *between = origin->source == PD_SOURCE_FLEET ? " revision " : ":";
  if (origin->line)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%u", between, origin->line);
  if (origin->column && origin->source != PD_SOURCE_FLEET) {
    snprintf(text + at, sizeof text - at, ":%u", origin->column);
  }
  return pd__short_text(text);
}

static void add_fact(const pd_flag *flag, const pd_flag_info *info, const char *key,
                     json_t *facts) {
  char keyed[5 + PD__HMAC_SIZE] = "hmac:", *text = text_of(flag);
  if (!text) return;
  const char *source = pd_source_name(info->source);
  if (info->sensitive) {
    pd__hmac_hex(key, info->name, text, keyed + 5);
    json_object_set_new(facts, info->name, json_pack("[s,s,s]", keyed, source, ""));
  } else {
    json_object_set_new(facts, info->name,
                        json_pack("[o,s,o]", pd__short_text(text), source, place_of(flag, info)));
  }
  free(text);
}

static void add_names(json_t *list, const char *names) {
  while (names && *names) {
    size_t length = strcspn(names, "|");
    json_array_append_new(list, json_stringn(names, length));
    names += length + (names[length] == '|');
  }
}

json_t *pd__facts(const char *key) {
  json_t *facts = json_object();
  for (pd_flag *flag = NULL; (flag = pd_flag_next(flag));) {
    pd_flag_info info = {.size = sizeof info};
    if (pd_flag_get_info(flag, &info, NULL) != PD_OK) continue; /* its module has left */
    if (info.per_process || (info.sensitive && !key)) continue;
    add_fact(flag, &info, key, facts);
  }
  return facts;
}

static void add_all_names(json_t *list, const pd_flag_info *info) {
  add_names(list, info->name);
  add_names(list, info->aliases);
  add_names(list, info->old_names);
}

static void add_aliases(json_t *aliases, const char *names, const char *name) {
  json_t *list = json_array(), *each;
  size_t index;
  add_names(list, names);
  json_array_foreach(list, index, each) {
    json_object_set_new(aliases, json_string_value(each), json_string(name));
  }
  json_decref(list);
}

void pd__add_names(json_t *document) {
  json_t *sensitive = json_array(), *unsafe = json_array(), *aliases = json_object();
  for (pd_flag *flag = NULL; (flag = pd_flag_next(flag));) {
    pd_flag_info info = {.size = sizeof info};
    if (pd_flag_get_info(flag, &info, NULL) != PD_OK) continue; /* its module has left */
    if (info.sensitive) add_all_names(sensitive, &info);
    if (info.unsafe) add_all_names(unsafe, &info);
    add_aliases(aliases, info.aliases, info.name);
    add_aliases(aliases, info.old_names, info.name);
  }
  json_object_set_new(document, "sensitive", sensitive);
  json_object_set_new(document, "unsafe", unsafe);
  json_object_set_new(document, "aliases", aliases);
}

json_t *pd__facts_changed(json_t *facts) {
  json_t *changed = json_object(), *fact;
  const char *name;
  json_object_foreach(facts, name, fact) {
    const char *source = json_string_value(json_array_get(fact, 1));
    if (source && strcmp(source, "default") != 0) json_object_set(changed, name, fact);
  }
  return changed;
}

/* ---- Environment variables ---- */

static bool matches(const char *name, const char *patterns) {
  char pattern[256];
  while (*patterns) {
    size_t length = strcspn(patterns, ",");
    snprintf(pattern, sizeof pattern, "%.*s", (int)length, patterns);
    if (length > 0 && length < sizeof pattern && fnmatch(pattern, name, 0) == 0) return true;
    patterns += length + (patterns[length] == ',');
  }
  return false;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), size = strlen(end);
  return length >= size && strcmp(text + length - size, end) == 0;
}

/* Whether it is a key of ours, or has the value of a flag in `secret`. */
static bool is_secret(const char *name, const json_t *secret) {
  static const char *const keys[] = {"PADDLE_FLAGS_FLEET_KEY", "PADDLE_FLAGS_ETCD_PASSWORD",
                                     "PADDLE_FLAGS_LIVE_TOKEN"};
  const json_t *each;
  size_t index;
  for (size_t at = 0; at < sizeof keys / sizeof keys[0]; at++) {
    if (strcmp(name, keys[at]) == 0) return true;
  }
  json_array_foreach(secret, index, each) {
    if (ends_with(name, json_string_value(each))) return true;
  }
  return false;
}

json_t *pd__variables(const char *patterns) {
  json_t *found = json_object(), *names = json_object();
  pd__add_names(names);
  const json_t *secret = json_object_get(names, "sensitive");
  for (char **each = environ; patterns && each && *each; each++) {
    const char *value = strchr(*each, '=');
    char *name = value ? strndup(*each, (size_t)(value - *each)) : NULL;
    if (name && matches(name, patterns) && !is_secret(name, secret)) {
      json_t *key = pd__short_text(name);
      json_object_set_new(found, json_string_value(key), pd__short_text(value + 1));
      json_decref(key);
    }
    free(name);
  }
  json_decref(names);
  return found;
}

/* ---- Documents ---- */

char *pd__document_text(json_t *document) {
  static const char *const parts[] = {"check",   "values", "selected", "environment",
                                      "aliases", "unsafe", "sensitive"};
  char *text = json_dumps(document, JSON_COMPACT);
  for (size_t at = 0; text && at < sizeof parts / sizeof parts[0]; at++) {
    if (strlen(text) <= PD__MAX_RECORD * 3 / 4) break;
    free(text);
    json_t *cut = json_object_get(document, "cut");
    if (!cut) json_object_set_new(document, "cut", cut = json_array());
    json_array_append_new(cut, json_string(parts[at]));
    json_object_set_new(document, parts[at], json_object());
    text = json_dumps(document, JSON_COMPACT);
  }
  return text;
}
