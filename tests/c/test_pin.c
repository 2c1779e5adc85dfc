/* Pins: which operation keeps which module loaded, and until when.
 *
 * Built with: -I$SOURCES -ldl $LIBRARY
 */
#include "plugged.h"

#include <registry/image.h>
#include <registry/loader.h>
#include <registry/pin.h>

static pd__operation one, two;
static int closed;

static void count_closed(pd_module *module) {
  module->closers--;
  closed++;
}

/* A module that has the path and the place of a plugin which is loaded. */
static pd_module *add_module(const char *plugin) {
  void *handle = open_plugin(plugin);
  const void *address = symbol(handle, "bare_calls");
  pd__platform_image *image = pd__platform_find_image(PD__NO_RECORDS, address);
  CHECK(image);
  pd__platform_lock();
  pd_module *module = pd__module_add(image);
  pd__platform_unlock();
  free(image);
  CHECK(module && !module->stays);
  module->handle = handle;
  pd__module_closed = count_closed;
  begin();
  return module;
}

static pd_module *add_opened(void) {
  pd_module *module = add_module("bare");
  module->opened = 1;
  return module;
}

static pd__pinning pin(pd__operation *operation, pd_module *module) {
  pd__operation_lock(operation);
  pd__pinning how = pd__pin_module(operation, module);
  pd__operation_unlock(operation);
  return how;
}

static void acquire(pd__operation *operation) {
  pd__operation_lock(operation);
  pd__pins_acquire(operation);
  CHECK(operation->locked);
  pd__operation_unlock(operation);
}

static void release(pd__operation *operation) {
  pd__operation_lock(operation);
  pd__pins_release(operation);
  pd__operation_unlock(operation);
  CHECK(!operation->pins);
}

TEST(what_stays_anyway_needs_no_pin) {
  pd_module module = {.stays = true};
  CHECK(pin(&one, NULL) == PD__PINNED && pin(&one, &module) == PD__PINNED && !one.pins);
}

TEST(an_open_module_is_counted_once_for_each_operation) {
  pd_module *module = add_opened();
  CHECK(pin(&one, module) == PD__PINNED && module->pinned == 1);
  CHECK(pin(&one, module) == PD__PINNED && module->pinned == 1);
  CHECK(pin(&two, module) == PD__PINNED && module->pinned == 2);
  release(&one);
  CHECK(module->pinned == 1);
  release(&two);
  CHECK(module->pinned == 0 && !one.closing && !two.closing);
}

TEST(the_last_operation_that_unpins_a_module_closes_it) {
  pd_module *module = add_opened();
  pin(&one, module);
  pin(&two, module);
  pd__module_end_opening(&one, module);
  CHECK(module->opened == 0 && module->closing == 1 && !one.closing);
  release(&one);
  CHECK(!one.closing && module->closing == 1);
  release(&two);
  CHECK(two.closing && module->closing == 0 && module->closers == 1);
  CHECK(is_loaded("bare"));
  pd__close_queued_handles(&two);
  CHECK(closed == 1 && module->closers == 0 && !two.closing);
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(a_module_that_nobody_has_pinned_is_closed_by_its_own_operation) {
  pd_module *module = add_opened();
  open_plugin("bare");
  module->opened = 2;
  pd__module_end_opening(&one, module);
  CHECK(one.closing && module->closing == 0 && module->closers == 1);
  pd__module_end_opening(&one, module);
  CHECK(module->closers == 2);
  pd__close_queued_handles(&one);
  CHECK(closed == 2 && module->closers == 0);
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(a_module_that_the_registry_has_not_opened_is_held_by_a_reference) {
  pd_module *module = add_module("bare");
  CHECK(pin(&one, module) == PD__UNPINNED && pin(&one, module) == PD__UNPINNED);
  acquire(&one);
  CHECK(pin(&one, module) == PD__PINNED && module->pinned == 0);
  close_plugin(module->handle);
  CHECK(is_loaded("bare"));
  release(&one);
  CHECK(one.closing && is_loaded("bare"));
  pd__close_queued_handles(&one);
  CHECK(closed == 0 && (!LOADER_UNMAPS || !is_loaded("bare")));
}

TEST(a_reference_is_not_one_of_the_counted_pins) {
  pd_module *module = add_module("bare");
  pin(&one, module);
  acquire(&one);
  module->opened = 1;
  CHECK(pin(&one, module) == PD__PINNED && module->pinned == 0);
  CHECK(pin(&two, module) == PD__PINNED && module->pinned == 1);
  release(&one);
  CHECK(module->pinned == 1);
  release(&two);
  CHECK(module->pinned == 0);
}

TEST(a_module_that_is_opened_meanwhile_needs_no_reference) {
  pd_module *module = add_module("bare");
  CHECK(pin(&one, module) == PD__UNPINNED);
  module->opened = 1;
  CHECK(pin(&one, module) == PD__PINNED && module->pinned == 1);
  acquire(&one);
  release(&one);
  CHECK(module->pinned == 0 && !one.closing);
}

TEST(a_module_whose_image_is_gone_is_leaving) {
  pd__platform_image image = {.path = "/nowhere/gone.so", .low = 16, .high = 32};
  pd__platform_lock();
  pd_module *module = pd__module_add(&image);
  pd__platform_unlock();
  CHECK(pin(&one, module) == PD__UNPINNED);
  acquire(&one);
  CHECK(pin(&one, module) == PD__LEAVING);
  release(&one);
  CHECK(!one.closing);
  module->present = false;
  CHECK(pin(&two, module) == PD__LEAVING && !two.pins);
}

TEST(what_is_pinned_stays_so_while_the_module_leaves) {
  pd_module *module = add_opened();
  pin(&one, module);
  module->present = false;
  CHECK(pin(&one, module) == PD__PINNED && pin(&two, module) == PD__LEAVING);
  release(&one);
}

TEST(a_pin_is_not_one_of_the_next_module_at_its_path) {
  pd_module *module = add_opened();
  pin(&one, module);
  pd__module_mark_gone(module);
  CHECK(add_module("bare") == module);
  module->opened = 1;
  CHECK(pin(&one, module) == PD__PINNED && module->pinned == 1); /* a second pin */
  CHECK(pin(&two, module) == PD__PINNED && module->pinned == 2);
  release(&one);
  CHECK(module->pinned == 1);
  release(&two);
}

TEST(a_child_counts_the_pins_of_its_thread) {
  pd_module *module = add_opened();
  pin(&one, module);
  pin(&two, module);
  module->pinned = 7;
  pd__pins_reset_in_child();
  CHECK(module->pinned == 2);
  release(&one);
  module->pinned = 7;
  pd__pins_reset_in_child();
  CHECK(module->pinned == 1);
  release(&two);
  CHECK(module->pinned == 0);
}

TEST(the_pins_of_an_operation_that_its_process_lacks_are_not_counted) {
  pd_module *module = add_opened();
  pin(&one, module);
  pin(&two, module);
  one.active->lost = true;
  release(&one);
  CHECK(module->pinned == 2);
  release(&two);
  CHECK(module->pinned == 1);
}

TEST(the_last_registration_gives_the_reference_back) {
  pd_module *module = add_module("bare");
  pd__module_remove_registration(&one, NULL);
  pd__module_remove_registration(&one, module);
  CHECK(module->registrations == 0 && !one.closing);
  module->registrations = 2;
  module->reference = open_plugin("bare");
  pd__module_remove_registration(&one, module);
  CHECK(module->registrations == 1 && module->reference && !one.closing);
  pd__module_remove_registration(&one, module);
  CHECK(module->registrations == 0 && !module->reference && one.closing);
  close_plugin(module->handle);
  CHECK(is_loaded("bare"));
  pd__close_queued_handles(&one);
  CHECK(closed == 0 && (!LOADER_UNMAPS || !is_loaded("bare")));
}

/* ---- The list of operations ---- */

static size_t count_active_operations(void) {
  size_t count = 0;
  for (const pd__active_operation *each = NULL; (each = pd__active_operation_next(each));) count++;
  return count;
}

TEST(operations_are_listed_until_they_are_removed) {
  pd__operation many[4] = {{.locked = false}};
  for (size_t i = 0; i < 4; i++) {
    pd__operation_mark_active(&many[i]);
    pd__operation_mark_active(&many[i]);
    CHECK(count_active_operations() == i + 1 && pd__active_operation_next(NULL) == many[i].active);
    CHECK(many[i].active->thread == pd__platform_thread_id() && !many[i].active->lost);
  }
  size_t order[] = {2, 0, 3, 1};
  for (size_t i = 0; i < 4; i++) {
    pd__active_operation_remove(many[order[i]].active);
    CHECK(count_active_operations() == 3 - i);
    for (const pd__active_operation *each = NULL; (each = pd__active_operation_next(each));) {
      CHECK(each != many[order[i]].active);
    }
  }
  for (size_t i = 0; i < 4; i++) pd__arena_free(&many[i].arena);
}

TEST(a_child_lists_the_operations_of_its_thread) {
  pd__operation many[3] = {{.locked = false}};
  for (size_t i = 0; i < 3; i++) pd__operation_mark_active(&many[i]);
  many[0].active->thread++;
  many[1].active->thread++;
  pd__active_operations_reset_in_child();
  CHECK(count_active_operations() == 1 && pd__active_operation_next(NULL) == many[2].active);
  CHECK(many[0].active->lost && many[1].active->lost && !many[2].active->lost);
  CHECK(pd__operation_is_lost(&many[0]) && !pd__operation_is_lost(&many[2]));
  pd__active_operation_remove(many[0].active); /* which does nothing any more */
  pd__active_operation_remove(many[1].active);
  CHECK(count_active_operations() == 1);
  for (size_t i = 0; i < 3; i++) pd__arena_free(&many[i].arena);
}

TEST(work_that_is_due_is_noted_by_kind) {
  pd__set_pending_work(PD__WORK_ANY, false);
  CHECK(!pd__has_pending_work(PD__WORK_ANY));
  pd__set_pending_work(PD__WORK_NOTICES, true);
  pd__set_pending_work(PD__WORK_RELEASES, true);
  CHECK(pd__has_pending_work(PD__WORK_NOTICES) && !pd__has_pending_work(PD__WORK_WARNINGS));
  pd__set_pending_work(PD__WORK_NOTICES, false);
  CHECK(!pd__has_pending_work(PD__WORK_NOTICES) && pd__has_pending_work(PD__WORK_RELEASES));
}
