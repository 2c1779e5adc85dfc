/* pd_fleet_check: the barrier at the start of a job, beside members in Python. As
 * paddle_flags/fleet/_check.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"
#include "membership.h"
#include "say.h"

static const double poll = 0.1;
/* Seconds for others to see that all is well, or to say what they have. */
static const double grace = 10.0;

/* What a member has reached, as its document says. */
enum stage { NOT_HERE, HERE, DETAILS, PASSED };

typedef struct barrier {
  pd_fleet *fleet;
  const char *patterns; /* or NULL */
  int64_t expect;       /* 0: those that are here */
  double timeout, deadline;
  int64_t round; /* of this member's calls: the first, the second */
} barrier;

/* ---- Saying ---- */

static json_t *list_of(const char *patterns) {
  json_t *list = json_array();
  while (patterns && *patterns) {
    size_t length = strcspn(patterns, ",");
    if (length) json_array_append_new(list, json_stringn(patterns, length));
    patterns += length + (patterns[length] == ',');
  }
  return list;
}

static pd_status publish(const barrier *at, enum stage stage, pd_error *err) {
  pd_fleet *fleet = at->fleet;
  char digest[PD__DIGEST_SIZE];
  json_t *variables = pd__variables(at->patterns);
  pd__digest(variables, NULL, digest);
  json_t *said = json_pack("{s:I,s:i,s:s,s:o,s:o}", "round", (json_int_t)at->round, "stage",
                           (int)stage, "environment", digest, "patterns", list_of(at->patterns),
                           "expect", at->expect ? json_integer(at->expect) : json_null());
  if (stage == DETAILS) json_object_set_new(said, "values", pd__facts(fleet->key));
  if (stage >= DETAILS) json_object_set(said, "variables", variables);
  json_decref(variables);
  pd__fleet_lock(fleet);
  json_decref(fleet->check);
  fleet->check = said;
  pd_status status = pd__fleet_announce(fleet, err);
  pd__fleet_unlock(fleet);
  return status;
}

/* ---- Looking ---- */

/* How far a member is in this call. One that was started again passes where others have passed. */
static int64_t stage_of(const barrier *at, const json_t *document) {
  const json_t *check = json_object_get(document, "check");
  int64_t round = pd__json_integer(check, "round", 0);
  if (round < at->round) return NOT_HERE;
  return round > at->round ? PASSED : pd__json_integer(check, "stage", NOT_HERE);
}

/* The documents of the members that are here; `every` receives those of all. You own both. */
static pd_status look(const barrier *at, json_t **here, json_t **every, pd_error *err) {
  json_t *document;
  const char *name;
  *here = json_object();
  pd_status status = pd__store_members(&at->fleet->store, every, err);
  if (status != PD_OK) {
    *every = json_object();
    return status;
  }
  json_object_foreach(*every, name, document) {
    if (stage_of(at, document) >= HERE) json_object_set(*here, name, document);
  }
  return PD_OK;
}

static bool is_late(const barrier *at) { return pd__monotonic() >= at->deadline; }

static pd_status missing(const barrier *at, json_t *every, const json_t *here, pd_error *err) {
  char names[600];
  json_t *slow = json_object(), *document;
  const char *name;
  json_object_foreach(every, name, document) {
    if (!pd__names_have(here, name)) pd__names_add(slow, name);
  }
  pd__names_list(slow, names, sizeof names);
  size_t expect = at->expect ? (size_t)at->expect : json_object_size(every);
  const char *why = json_object_size(slow) ? " joined and didn't call check" : "others didn't join";
  pd_status status =
      pd__say(err, PD_ERR_REFUSED, "%.200s: %zu of %zu members are here after %g s: %.500s%s",
              at->fleet->store.url, json_object_size(here), expect, at->timeout, names, why);
  json_decref(slow);
  return status;
}

/* Wait until as many members as expected are here. */
static pd_status gather(const barrier *at, json_t **here, pd_error *err) {
  for (;;) {
    json_t *every;
    pd_status status = look(at, here, &every, err);
    size_t wanted = at->expect ? (size_t)at->expect : json_object_size(every);
    bool all = json_object_size(*here) > 0 && json_object_size(*here) >= wanted;
    if (status == PD_OK && !all && is_late(at)) status = missing(at, every, *here, err);
    json_decref(every);
    if (status != PD_OK || all) return status;
    json_decref(*here);
    pd__fleet_pause(at->fleet, poll);
  }
}

/* ---- Comparing ---- */

/* Whether documents have the same under a name, in themselves or in what check() says. */
static bool agree(json_t *documents, const char *part, const char *name) {
  const json_t *first = NULL, *document;
  const char *member;
  json_object_foreach(documents, member, document) {
    const json_t *in = part ? json_object_get(document, part) : document;
    const json_t *value = json_object_get(in, name);
    if (first && !json_equal(first, value)) return false;
    if (!first) first = value;
  }
  return true;
}

static json_t *selected_of(json_t *documents) {
  json_t *selected = json_object();
  const json_t *document, *each;
  const char *member;
  size_t index;
  json_object_foreach(documents, member, document) {
    json_array_foreach(json_object_get(document, "selected"), index, each) {
      if (json_is_string(each)) pd__names_add(selected, json_string_value(each));
    }
  }
  return selected;
}

static bool are_alike(json_t *documents) {
  if (!agree(documents, NULL, "revision") || !agree(documents, NULL, "digest")) return false;
  if (!agree(documents, NULL, "selected")) return false;
  if (!agree(documents, "check", "environment")) return false;
  json_t *selected = selected_of(documents), *found = pd__differences(documents, selected);
  bool alike = json_array_size(found) == 0;
  json_decref(found);
  json_decref(selected);
  return alike;
}

/* What members say all the time: some have passed, and don't list their defaults. */
static void drop_details(json_t *documents) {
  json_t *document;
  const char *name;
  json_object_foreach(documents, name, document) {
    (void)json_object_del(json_object_get(document, "check"), "values");
  }
}

/* Say what this member has, and wait a moment until the others in `documents` have said it; they
 * are replaced. */
static void ask_details(const barrier *at, json_t *documents) {
  double end = pd__monotonic() + grace;
  (void)publish(at, DETAILS, NULL);
  for (;;) {
    json_t *here, *every, *document;
    const char *name;
    bool silent = look(at, &here, &every, NULL) != PD_OK, all = true;
    json_object_foreach(here, name, document) {
      if (!pd__names_have(documents, name)) continue;
      if (stage_of(at, document) == DETAILS) json_object_set(documents, name, document);
      if (stage_of(at, document) == HERE) silent = true;
    }
    json_decref(here);
    json_decref(every);
    json_object_foreach(documents, name, document) {
      if (stage_of(at, document) != DETAILS) all = false;
    }
    if (!silent || pd__monotonic() >= end) {
      if (!all) drop_details(documents);
      break;
    }
    pd__fleet_pause(at->fleet, poll);
  }
  pd__fleet_pause(at->fleet, 3 * poll); /* others have yet to see what this member said last */
}

/* All differences go to `errors` by a configuration that fails: a list has no function to add. */
static void list_errors(const json_t *found, pd_error_list *errors) {
  pd_config *config = NULL;
  size_t index;
  const json_t *each;
  if (!errors || pd_config_new(PD_SOURCE_FILE, &config, NULL) != PD_OK) return;
  json_array_foreach(found, index, each) {
    pd_error error = {.status = PD_ERR_CONFLICT};
    snprintf(error.message, sizeof error.message, "%s", json_string_value(each));
    (void)pd_config_fail(config, &error, NULL);
  }
  (void)pd_config_check(config, true, errors, NULL);
  pd_config_free(config);
}

static pd_status refuse(const barrier *at, json_t *documents, pd_error_list *errors,
                        pd_error *err) {
  ask_details(at, documents);
  json_t *found = pd__differences(documents, NULL);
  const char *first = json_string_value(json_array_get(found, 0));
  size_t count = json_array_size(found);
  list_errors(found, errors);
  pd_status status =
      pd__say(err, PD_ERR_CONFLICT, "%.200s: the members differ: %.600s%s", at->fleet->store.url,
              first ? first : "their digests differ, and they did not say why in time",
              count > 1 ? "; and more" : "");
  json_decref(found);
  return status;
}

/* Stay until the others have seen this member, so that nobody misses one that ends soon. */
static void linger(const barrier *at, const json_t *documents) {
  double end = pd__monotonic() + grace;
  while (pd__monotonic() < end) {
    json_t *here, *every, *document;
    const char *name;
    bool all = look(at, &here, &every, NULL) == PD_OK;
    json_object_foreach(here, name, document) {
      if (pd__names_have(documents, name) && stage_of(at, document) == HERE) all = false;
    }
    json_decref(here);
    json_decref(every);
    if (all) return;
    pd__fleet_pause(at->fleet, poll);
  }
}

static pd_status wait_and_compare(const barrier *at, pd_error_list *errors, pd_error *err) {
  json_t *documents = NULL, *every;
  pd_status status = publish(at, HERE, err);
  if (status == PD_OK) status = gather(at, &documents, err);
  while (status == PD_OK && !are_alike(documents)) {
    if (is_late(at) || agree(documents, NULL, "revision")) {
      status = refuse(at, documents, errors, err);
      break;
    }
    json_decref(documents); /* a change is on its way to some of them */
    pd__fleet_pause(at->fleet, poll);
    status = look(at, &documents, &every, err);
    json_decref(every);
    if (status == PD_OK) status = publish(at, HERE, err);
  }
  if (status == PD_OK) status = publish(at, PASSED, err);
  if (status == PD_OK) linger(at, documents);
  json_decref(documents);
  return status;
}

PD_FLEET_API pd_status pd_fleet_check(pd_fleet *fleet, const pd_fleet_check_options *options,
                                      pd_error_list *errors, pd_error *err) {
  pd_fleet_check_options all = {.size = sizeof all};
  if (!fleet || fleet->forked) {
    return pd__say(err, PD_ERR_ARGUMENT, "this process is no member of a fleet");
  }
  if (options && options->size < sizeof(size_t)) {
    return pd__say(err, PD_ERR_ARGUMENT, "options->size is %zu", options->size);
  }
  if (options) memcpy(&all, options, options->size < sizeof all ? options->size : sizeof all);
  if (all.timeout == 0.0) all.timeout = 60.0;
  if (!(all.timeout > 0.0) || !isfinite(all.timeout)) {
    return pd__say(err, PD_ERR_ARGUMENT, "timeout is %g: expected seconds, more than 0",
                   all.timeout);
  }
  int64_t world = fleet->place.world > 0 ? fleet->place.world : 0;
  barrier at = {fleet,
                all.environment,
                all.expect ? all.expect : world,
                all.timeout,
                pd__monotonic() + all.timeout,
                ++fleet->checks};
  return wait_and_compare(&at, errors, err);
}
