/* The journal: what it notes of each change, and how far back it goes.
 *
 * Built with: -I$SOURCES -Wl,--wrap=realloc $LIBRARY
 */
#include <malloc.h>
#include <unistd.h>

#include "check.h"
#include "forking.h"

#include <registry/journal.h>

/* What grows is full of other bytes; or there is no memory for more flags. */
static bool memory_out;
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size) {
  if (memory_out && size % sizeof(pd__journal_state) == 0) return NULL;
  void *grown = __real_realloc(NULL, size);
  CHECK(grown);
  CHECK(!old || malloc_usable_size(old) <= size);
  memset(grown, 0x5a, size);
  if (old) memcpy(grown, old, malloc_usable_size(old));
  free(old);
  return grown;
}

static void start_journal(void) {
  pd__platform_lock();
  CHECK(pd__journal_start());
  pd__journal_record_missed_changes();
  pd__platform_unlock();
  CHECK(pd__journal_get_last_revision() == 0);
}

static uint64_t refresh(void) {
  pd__platform_lock();
  pd__journal_record_missed_changes();
  pd__platform_unlock();
  CHECK(!pd__journal_is_stale());
  return pd__journal_get_last_revision();
}

/* The last event, which must be the only new one. */
static const pd__event *take_event(void) {
  static uint64_t seen;
  CHECK(refresh() == seen + 1);
  const pd__event *event = pd__journal_find_first_after(seen++);
  CHECK(event && event->revision == seen && !pd__journal_find_first_after(seen));
  return event;
}

static void set_from(pd_flag *flag, const char *text, const pd_origin *origin) {
  pd_assignment item = {.flag = flag, .text = text};
  CHECK_OK(pd_batch_set(&item, 1, origin, NULL, &err));
}

TEST(a_start_notes_no_changes_of_flags_that_were_there) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level"), *gone = define_flag(PD_TYPE_int64, "gone");
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK_OK(pd_flag_unregister(gone, &err));
  CHECK_STR(pd__journal_get_epoch(), "");
  start_journal();
  CHECK(!pd__journal_find_first_after(0) && pd__journal_get_flag_revision(flag) == 0);
  CHECK(pd__journal_start()); /* again, which changes nothing */
  CHECK_OK(pd_flag_set_int64(flag, 6, &err));
  const pd__event *event = take_event();
  CHECK(event->kind == PD_EVENT_VALUE && event->flag == flag && event->at > 0);
  CHECK(event->before.value.i64 == 5 && event->before.source == PD_SOURCE_RUNTIME);
  CHECK(event->after.value.i64 == 6 && event->after.source == PD_SOURCE_RUNTIME);
  CHECK(event->after.defined && !event->after.unset && !event->after.sensitive);
  CHECK(pd__journal_get_flag_revision(flag) == 1);
}

TEST(each_part_of_an_origin_is_noted) {
  pd_origin file = {PD_SOURCE_FILE, 3, "a.conf", 4};
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  start_journal();
  set_from(flag, "5", &file);
  const pd__event *event = take_event();
  CHECK(event->before.source == PD_SOURCE_DEFAULT && event->before.line == 0);
  CHECK(event->after.source == PD_SOURCE_FILE && event->after.line == 3);
  CHECK(event->after.column == 4);
  CHECK_STR(event->after.place, "a.conf");
  file.line = 5;
  set_from(flag, "5", &file);
  CHECK(take_event()->after.line == 5);
  file.column = 6;
  set_from(flag, "5", &file);
  CHECK(take_event()->after.column == 6);
  file.place = "b.conf";
  set_from(flag, "5", &file);
  CHECK_STR(take_event()->after.place, "b.conf");
  file.source = PD_SOURCE_FLEET;
  set_from(flag, "5", &file);
  CHECK(take_event()->after.source == PD_SOURCE_FLEET);
  set_from(flag, "5", &file);
  CHECK(refresh() == 5);
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK(take_event()->after.source == PD_SOURCE_DEFAULT && pd__journal_get_last_revision() == 6);
}

TEST(the_source_of_an_override_is_noted) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  pd_assignment item = {.flag = flag, .text = "5"};
  pd_origin line = {PD_SOURCE_RUNTIME, 7, "x.py", 0};
  pd_override override;
  start_journal();
  CHECK_OK(pd_override_push(&item, 1, &line, NULL, &override, &err));
  const pd__event *event = take_event();
  CHECK(event->after.source == PD_SOURCE_OVERRIDE && event->after.line == 7);
  CHECK(event->after.value.i64 == 5);
  CHECK_OK(pd_override_pop(override, &err));
  CHECK(take_event()->after.source == PD_SOURCE_DEFAULT);
}

TEST(that_an_optional_flag_has_no_value_is_noted) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.optional = true);
  start_journal();
  CHECK_OK(pd_flag_set_int64(flag, 0, &err)); /* as without a value */
  const pd__event *event = take_event();
  CHECK(event->before.unset && !event->after.unset);
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK(take_event()->after.unset);
}

TEST(freezing_is_noted_also_by_the_end_of_startup) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level"), *early;
  early = DEFINE(PD_TYPE_int64, "early", def.startup_only = true);
  start_journal();
  CHECK_OK(pd_flag_freeze(flag, &err));
  const pd__event *event = take_event();
  CHECK(event->kind == PD_EVENT_FROZEN && event->after.frozen && !event->before.frozen);
  CHECK_OK(pd_flag_unfreeze(flag, &err));
  CHECK(take_event()->kind == PD_EVENT_FROZEN);
  end_startup();
  pd__journal_mark_stale();
  event = take_event();
  CHECK(event->kind == PD_EVENT_FROZEN && event->flag == early && event->after.frozen);
}

TEST(definitions_are_noted_as_they_come_change_and_leave) {
  start_journal();
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  CHECK(pd__journal_is_stale());
  const pd__event *event = take_event();
  CHECK(event->kind == PD_EVENT_DEFINED && event->flag == flag && event->after.defined);
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.sensitive = true;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  event = take_event();
  CHECK(event->kind == PD_EVENT_DEFINED && event->after.sensitive && !event->before.sensitive);
  CHECK_OK(pd_flag_unregister(flag, &err));
  event = take_event();
  CHECK(event->kind == PD_EVENT_REMOVED && event->before.defined && !event->after.defined);
  pd__journal_mark_stale();
  CHECK(refresh() == 3);
}

TEST(the_latest_8192_changes_are_kept) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  uint64_t last = PD_JOURNAL_KEPT + 10;
  start_journal();
  for (uint64_t i = 1; i <= last; i++) {
    CHECK_OK(pd_flag_set_int64(flag, (int64_t)i, &err));
    if (i == PD_JOURNAL_KEPT) CHECK(pd__journal_get_oldest_revision() == 0);
    if (i == PD_JOURNAL_KEPT + 1) CHECK(pd__journal_get_oldest_revision() == 1);
  }
  CHECK(pd__journal_get_last_revision() == last && pd__journal_get_oldest_revision() == 10);
  CHECK(pd__journal_find_first_after(0)->revision == 11 &&
        pd__journal_find_first_after(10)->revision == 11);
  CHECK(pd__journal_find_first_after(11)->revision == 12 &&
        pd__journal_find_first_after(11)->after.value.i64 == 12);
  CHECK(pd__journal_find_first_after(last - 1)->revision == last);
  CHECK(!pd__journal_find_first_after(last) && !pd__journal_find_first_after(last + 1));
  CHECK(pd__journal_get_flag_revision(flag) == last);
}

TEST(many_flags_are_each_noted) {
  enum { MANY = 700 };
  static pd_flag *flags[MANY];
  char name[32];
  start_journal();
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "flag_%d", i);
    flags[i] = define_flag(PD_TYPE_int64, name);
    if (i % 100 == 0) CHECK(refresh() == (uint64_t)i + 1);
  }
  CHECK(refresh() == MANY);
  for (int i = 0; i < MANY; i++) CHECK(pd__journal_get_flag_revision(flags[i]) == (uint64_t)i + 1);
}

TEST(readers_read_everything_again_after_memory_was_out) {
  pd_flag *flag = NULL;
  char name[32];
  pd_flag *first = define_flag(PD_TYPE_int64, "first");
  start_journal();
  for (int i = 1; i <= PD_JOURNAL_KEPT + 5; i++) CHECK_OK(pd_flag_set_int64(first, i, &err));
  memory_out = true;
  for (int i = 1; i <= 64; i++) { /* it has room for the other 63 */
    snprintf(name, sizeof name, "flag_%d", i);
    flag = define_flag(PD_TYPE_int64, name);
    uint64_t now = pd__journal_get_last_revision();
    CHECK(pd__journal_get_oldest_revision() == (i < 64 ? now - PD_JOURNAL_KEPT : now));
  }
  uint64_t revision = pd__journal_get_last_revision();
  CHECK(revision >= 64 && !pd__journal_find_first_after(revision) &&
        pd__journal_find_first_after(revision - 1));
  CHECK(pd__journal_get_flag_revision(flag) == 0);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK(pd__journal_get_last_revision() == revision + 1 &&
        pd__journal_get_oldest_revision() == revision + 1);
  memory_out = false;
  CHECK_OK(pd_flag_set_int64(flag, 6, &err));
  CHECK(pd__journal_get_last_revision() == revision + 2);
  CHECK(pd__journal_get_flag_revision(flag) == revision + 2);
  CHECK(pd__journal_find_first_after(revision + 1)->after.value.i64 == 6);
}

TEST(a_journal_that_finds_no_memory_starts_later) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  memory_out = true;
  CHECK(!pd__journal_start() && !pd__journal_on);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  memory_out = false;
  CHECK(pd__journal_start() && pd__journal_on);
  uint64_t before = refresh();
  CHECK_OK(pd_flag_set_int64(flag, 6, &err));
  CHECK(pd__journal_get_last_revision() == before + 1);
}

static void check_epoch_of_child(const char *of_parent, bool same) {
  pid_t child = fork();
  if (child == 0) _exit(!strcmp(pd__journal_get_epoch(), of_parent) == same ? 0 : 1);
  check_child(child);
}

TEST(each_process_has_an_epoch_of_its_own) {
  char epoch[32];
  define_flag(PD_TYPE_int64, "level");
  check_epoch_of_child("", true);
  start_journal();
  snprintf(epoch, sizeof epoch, "%s", pd__journal_get_epoch());
  CHECK(strspn(epoch, "0123456789abcdef") == 16 && strlen(epoch) == 16);
  check_epoch_of_child(epoch, false);
  CHECK_STR(pd__journal_get_epoch(), epoch);
  CHECK(pd__journal_start()); /* again, which changes nothing */
  CHECK_STR(pd__journal_get_epoch(), epoch);
}
