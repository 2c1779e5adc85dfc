/* What a member says of itself, under its lease. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "membership.h"
#include "say.h"

enum { MOST_ANSWERS = 32 };

static json_t *text_or_null(const char *text) { return *text ? pd__json_text(text) : json_null(); }

static json_t *number_or_null(int64_t number) {
  return number >= 0 ? json_integer(number) : json_null();
}

static json_t *answers_of(const pd__member *member) {
  json_t *answers = json_object();
  size_t count = member->note_count;
  for (size_t at = count > MOST_ANSWERS ? count - MOST_ANSWERS : 0; at < count; at++) {
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)member->notes[at].revision);
    json_object_set(answers, key, member->notes[at].answer);
  }
  return answers;
}

static json_t *wanted_of(const pd__member *member) {
  json_t *wanted = json_object(), *entry;
  const char *name;
  json_object_foreach(member->applier.wanted, name, entry) {
    json_object_set(wanted, name, json_array_get(entry, PD__VALUE));
  }
  return wanted;
}

/* The flags that members may have differently, since a selector says so. As a set. */
static json_t *selected_of(const pd__member *member, const json_t *facts) {
  json_t *selected = json_object(), *table, *entry;
  const char *on, *name;
  json_object_foreach(member->state.tables, on, table) {
    if (strcmp(on, "all") == 0) continue;
    json_object_foreach(table, name, entry) {
      if (pd__names_have(facts, name)) pd__names_add(selected, name);
    }
  }
  return selected;
}

static json_t *sorted_names(const json_t *names) {
  json_t *list = json_array();
  const char **sorted = pd__json_sorted(names);
  for (size_t at = 0; sorted && sorted[at]; at++)
    json_array_append_new(list, json_string(sorted[at]));
  free(sorted);
  return list;
}

static void add_flags(const pd_fleet *fleet, json_t *document) {
  char digest[PD__DIGEST_SIZE];
  json_t *facts = pd__facts(fleet->key);
  json_t *selected = selected_of(&fleet->member, facts);
  pd__digest(facts, selected, digest);
  json_object_set_new(document, "values", pd__facts_changed(facts));
  json_object_set_new(document, "selected", sorted_names(selected));
  json_object_set_new(document, "digest", json_string(digest));
  pd__add_names(document);
  json_decref(selected);
  json_decref(facts);
}

static json_t *document_of(pd_fleet *fleet) {
  const pd__member *member = &fleet->member;
  const char *identity = member->state.fleet ? member->state.fleet : "";
  int64_t step = __atomic_load_n(&member->last, __ATOMIC_SEQ_CST);
  json_t *document = json_pack(
      "{s:i,s:s,s:o,s:o,s:o,s:s,s:I,s:f,s:f,s:I,s:s,s:o,s:o,s:O,s:o,s:o}", "version", 1, "name",
      fleet->name, "role", text_or_null(fleet->place.role), "rank",
      number_or_null(fleet->place.rank), "world", number_or_null(fleet->place.world), "host",
      fleet->place.host, "pid", (json_int_t)getpid(), "started", fleet->started, "ttl", fleet->ttl,
      "revision", (json_int_t)member->state.revision, "fleet", identity, "step",
      number_or_null(step), "answers", answers_of(member), "votes", member->votes, "wanted",
      wanted_of(member), "problem", pd__json_text(fleet->problem));
  if (!document) return NULL;
  json_object_set_new(document, "votes", json_copy(member->votes)); /* they change later */
  add_flags(fleet, document);
  if (fleet->check) json_object_set(document, "check", fleet->check);
  return document;
}

static pd_status out_of_memory(pd_error *err) {
  return pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
}

/* Owns `document`. */
static pd_status announce(pd_fleet *fleet, json_t *document, pd_error *err) {
  json_t *stamped = document ? json_copy(document) : NULL;
  if (stamped) json_object_set_new(stamped, "time", json_real(pd__wall()));
  char *text = stamped ? pd__document_text(stamped) : NULL;
  pd_status status = text ? PD_OK : out_of_memory(err);
  if (text && !pd__fleet_is_stopped(fleet)) {
    status = pd__store_announce(&fleet->store, fleet->name, text, fleet->ttl, err);
  }
  free(text);
  json_decref(stamped);
  if (status == PD_OK) {
    json_decref(fleet->published);
    fleet->published = json_incref(document);
    fleet->beat = pd__monotonic();
  }
  json_decref(document);
  return status;
}

pd_status pd__fleet_announce(pd_fleet *fleet, pd_error *err) {
  return announce(fleet, document_of(fleet), err);
}

/* A lease that has ended is taken anew: the process was stopped, or the engine away. */
pd_status pd__fleet_say(pd_fleet *fleet, pd_error *err) {
  json_t *document = document_of(fleet);
  bool runs = pd__monotonic() - fleet->beat < fleet->ttl;
  if (!runs || !json_equal(document, fleet->published)) return announce(fleet, document, err);
  pd_status status = pd__store_keep_alive(&fleet->store, fleet->name, err);
  if (status == PD_ERR_UNDEFINED) return announce(fleet, document, err);
  json_decref(document);
  if (status == PD_OK) fleet->beat = pd__monotonic();
  return status;
}

/* Whether another process has the name by now, which a farewell would hide. */
static bool has_successor(const pd_fleet *fleet) {
  static const char *const who[] = {"host", "pid", "started"};
  json_t *there = pd__store_member(&fleet->store, fleet->name);
  bool same = true;
  for (size_t at = 0; there && at < sizeof who / sizeof who[0]; at++) {
    same = same &&
           json_equal(json_object_get(there, who[at]), json_object_get(fleet->published, who[at]));
  }
  json_decref(there);
  return !same;
}

/* For a day, operators see that the member has left, and not died. */
void pd__fleet_say_farewell(const pd_fleet *fleet) {
  if (has_successor(fleet)) return;
  static const char *const kept[] = {"version", "name", "role",     "rank",
                                     "host",    "pid",  "revision", "fleet"};
  json_t *document = json_object();
  for (size_t at = 0; at < sizeof kept / sizeof kept[0]; at++) {
    json_object_set(document, kept[at], json_object_get(fleet->published, kept[at]));
  }
  json_object_set_new(document, "left", json_true());
  char *text = json_dumps(document, JSON_COMPACT);
  if (text) (void)pd__store_announce(&fleet->store, fleet->name, text, 86400.0, NULL);
  free(text);
  json_decref(document);
}
