/* Comparing documents. A fact is [text, source, place]; NULL: the member has no such flag. */
#include "difference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 5 }; /* members with the same value that a line names */

/* ---- What a member has ---- */

static const json_t *fact_of(const json_t *document, const char *flag, const json_t *standard) {
  const json_t *details = json_object_get(json_object_get(document, "check"), "values");
  const json_t *fact = json_object_get(details, flag);
  if (!fact) fact = json_object_get(json_object_get(document, "values"), flag);
  if (json_is_array(fact)) return fact;
  return json_object_size(details) ? NULL : standard;
}

static const json_t *variable_of(const json_t *document, const char *variable) {
  return json_object_get(json_object_get(json_object_get(document, "check"), "variables"),
                         variable);
}

static const char *text_of(const json_t *fact) {
  return json_string_value(json_is_array(fact) ? json_array_get(fact, 0) : fact);
}

static bool is_same(const char *left, const char *right) {
  return left && right ? strcmp(left, right) == 0 : left == right;
}

/* ---- One line ---- */

static void add(json_t *parts, const char *part, const char *member) {
  if (!json_object_get(parts, part)) json_object_set_new(parts, part, json_array());
  json_array_append_new(json_object_get(parts, part), json_string(member));
}

/* Add a member to those that have the same value from the same source. */
static void hold(json_t *parts, const char *name, const json_t *fact, const char *member) {
  char part[1200];
  const char *value = text_of(fact);
  const char *source = json_string_value(json_array_get(fact, 1));
  const char *place = json_string_value(json_array_get(fact, 2));
  if (!value) {
    snprintf(part, sizeof part, "%s", *name == '$' ? "not set" : "not defined");
  } else if (!source) {
    snprintf(part, sizeof part, "'%s'", value);
  } else {
    snprintf(part, sizeof part, "'%s' from %s%s%s", value, source, place && *place ? " " : "",
             place ? place : "");
  }
  add(parts, part, member);
}

static void append(char *line, size_t size, const char *between, const char *text) {
  size_t at = strlen(line);
  snprintf(line + at, size - at, "%s%s", between, text);
}

static void append_members(char *line, size_t size, const json_t *members) {
  size_t count = json_array_size(members);
  for (size_t at = 0; at < count && at < MOST_NAMED; at++) {
    append(line, size, at ? ", " : " in ", json_string_value(json_array_get(members, at)));
  }
  char more[40] = "";
  if (count > MOST_NAMED) snprintf(more, sizeof more, " and %zu more", count - MOST_NAMED);
  append(line, size, more, "");
}

/* Those with the most members come first. Empties `parts`. */
static json_t *line_of(const char *name, json_t *parts) {
  char line[4096];
  snprintf(line, sizeof line, "%s:", name);
  for (const char *between = " "; json_object_size(parts); between = "; ") {
    const char *part, *most = NULL;
    json_t *members;
    size_t count = 0;
    json_object_foreach(parts, part, members) {
      if (json_array_size(members) <= count) continue;
      count = json_array_size(members);
      most = part;
    }
    append(line, sizeof line, between, most ? most : "");
    append_members(line, sizeof line, json_object_get(parts, most));
    if (!most || json_object_del(parts, most) != 0) break;
  }
  return json_string(line);
}

/* ---- One name ---- */

typedef struct look {
  json_t *documents;
  const char *name;       /* of a flag, or of a variable with $ */
  const json_t *standard; /* the fact of a flag that isn't named */
  const json_t *wanted;   /* what the fleet wants of the members to look at, as text or NULL */
} look;

static bool is_asked(const look *at, const json_t *document) {
  if (*at->name == '$') return pd__json_has(json_object_get(document, "check"), "variables");
  const json_t *wanted = json_object_get(json_object_get(document, "wanted"), at->name);
  return is_same(json_string_value(wanted), json_string_value(at->wanted));
}

static void compare(const look *at, json_t *found) {
  json_t *parts = json_object(), *document;
  const char *member, *first = NULL;
  bool any = false, differ = false;
  json_object_foreach(at->documents, member, document) {
    if (!is_asked(at, document)) continue;
    const json_t *fact = *at->name == '$' ? variable_of(document, at->name + 1)
                                          : fact_of(document, at->name, at->standard);
    differ |= any && !is_same(first, text_of(fact));
    first = text_of(fact);
    any = true;
    hold(parts, at->name, fact, member);
  }
  if (differ) json_array_append_new(found, line_of(at->name, parts));
  json_decref(parts);
}

/* Compare the members of each group for which the fleet wants the same. */
static void compare_groups(look *at, json_t *found) {
  json_t *document, *seen = json_object();
  const char *member;
  json_object_foreach(at->documents, member, document) {
    const json_t *wanted = json_object_get(json_object_get(document, "wanted"), at->name);
    const char *text = json_string_value(wanted);
    char key[4096];
    snprintf(key, sizeof key, "%s%s", text ? "=" : "", text ? text : "");
    if (pd__names_have(seen, key)) continue;
    pd__names_add(seen, key);
    at->wanted = wanted;
    compare(at, found);
  }
  json_decref(seen);
}

/* ---- All names ---- */

static void add_names(json_t *names, const char *before, json_t *object) {
  const char *name;
  json_t *each;
  json_object_foreach(object, name, each) {
    char key[400];
    snprintf(key, sizeof key, "%s%s", before, name);
    pd__names_add(names, key);
  }
}

static json_t *names_of(json_t *documents, const json_t *among) {
  json_t *names = json_object(), *document;
  const char *member;
  json_object_foreach(documents, member, document) {
    const json_t *check = json_object_get(document, "check");
    add_names(names, "", json_object_get(document, "values"));
    add_names(names, "", json_object_get(check, "values"));
    if (!among) add_names(names, "$", json_object_get(check, "variables"));
  }
  return names;
}

json_t *pd__differences(json_t *documents, const json_t *among) {
  json_t *found = json_array(), *names = names_of(documents, among);
  json_t *standard = json_pack("[s,s,s]", "the default", "default", "");
  const char **sorted = pd__json_sorted(names);
  for (size_t at = 0; sorted && sorted[at]; at++) {
    look about = {documents, sorted[at], standard, NULL};
    if (among && !pd__names_have(among, sorted[at])) continue;
    if (*about.name == '$') {
      compare(&about, found);
    } else {
      compare_groups(&about, found);
    }
  }
  free(sorted);
  json_decref(standard);
  json_decref(names);
  return found;
}
