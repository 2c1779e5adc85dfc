/* Changes from outside that didn't come through a server: they are listed and audited as others. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

static bool copy_flag(pd__changed_flag *to, const pd_live_changed *from) {
  to->name = strdup(from->name);
  to->old_text = pd__text_as_json(from->old_text);
  to->new_text = pd__text_as_json(from->new_text);
  return to->name && (to->old_text || !from->old_text) && (to->new_text || !from->new_text);
}

/* Cuts a text that is too long between characters. */
static void copy_label(char to[PD__LABEL_MAX + 1], const char *from) {
  size_t length = from ? strlen(from) : 0;
  if (length > PD__LABEL_MAX) length = PD__LABEL_MAX;
  while (length == PD__LABEL_MAX && ((unsigned char)from[length] & 0xc0) == 0x80) length--;
  memcpy(to, from ? from : "", length);
  to[length] = '\0';
}

static pd__change *copy_change(const pd_live_change *from) {
  pd__who who = {.uid = geteuid()};
  copy_label(who.label, from->by);
  copy_label(who.host, from->fleet);
  pd__change *made = pd__change_new(from->count, &who, from->reason);
  bool copied = made != NULL;
  for (size_t i = 0; copied && i < from->count; i++) {
    copied = copy_flag(&made->flags[i], &from->flags[i]);
  }
  if (copied) {
    made->of_fleet = true;
    made->until = from->until;
    return made;
  }
  pd__change_free(made);
  return NULL;
}

static pd_status check_change(const pd_live_change *change, pd_error *err) {
  if (!change || change->size != sizeof *change) {
    return pd__fail(err, PD_ERR_ARGUMENT, "change: expected a pd_live_change with its size");
  }
  for (size_t i = 0; i < change->count; i++) {
    if (change->flags[i].name) continue;
    return pd__fail(err, PD_ERR_ARGUMENT, "change->flags[%zu].name is NULL", i);
  }
  return PD_OK;
}

pd_status pd_live_report(const pd_live_change *change, pd_error *err) {
  pd_status status = check_change(change, err);
  if (status == PD_OK) status = pd__fork_watch(err);
  if (status != PD_OK) return status;
  pd__change *made = copy_change(change);
  if (!made) return pd__fail_memory(err);
  pd__text event = {.data = NULL};
  pthread_mutex_lock(&pd__lock);
  pd__change_reserve(made);
  pd__change_add(made);
  pd__change_write_event(&event, made, "fleet");
  made->users--;
  pthread_mutex_unlock(&pd__lock);
  if (!event.failed) pd__audits_write(event.data, event.length);
  pd__text_free(&event);
  return PD_OK;
}
