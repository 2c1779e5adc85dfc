/* Values that a flag has in one thread, and contexts that threads give to each other. */
#include "stress.h"

PD_DEFINE_SCOPED_int64(scope_number, 0, "Both halves of it are equal");

static int64_t make_whole(unsigned half) { return (int64_t)half << 32 | half; }

static bool is_whole(int64_t value) { return value >> 32 == (value & 0xffffffff); }

/* A context of another thread, with the value that it gives. */
typedef struct lent_context {
  pd_scope_context *context;
  int64_t value;
} lent_context;
static lent_context *mailbox[THREADS];

void check_scopes(const actor *who) {
  int64_t value = PD_SCOPED(scope_number), read = 0;
  if (who->scope_count) MUST(who, value == who->scopes[who->scope_count - 1].value);
  MUST_BE(who, pd_flag_get_int64(PD_SCOPED_FLAG(scope_number), &read, NULL), PD_OK);
  MUST(who, is_whole(value) && is_whole(read));
  if (who->scope_count) MUST(who, value == read);
}

static open_scope open_whole(actor *who) {
  open_scope opened = {.value = make_whole(pick_number(who, 1 << 30))};
  pd_assignment item = {.flag = PD_SCOPED_FLAG(scope_number), .type = PD_TYPE_int64};
  item.value.i64 = opened.value;
  MUST_BE(who, pd_scope_push(&item, 1, NULL, NULL, &opened.number, NULL), PD_OK);
  return opened;
}

void push_scope(actor *who) {
  if (who->scope_count == SCOPES) return;
  who->scopes[who->scope_count] = open_whole(who);
  who->scope_count++;
  check_scopes(who);
}

/* In any order. Where a thread has attached the scope, it stays open. */
void pop_scope(actor *who) {
  if (!who->scope_count) return;
  size_t at = pick_number(who, (unsigned)who->scope_count);
  MUST_BE(who, pd_scope_pop(who->scopes[at].number, NULL), PD_OK);
  who->scope_count--;
  for (; at < who->scope_count; at++) who->scopes[at] = who->scopes[at + 1];
  check_scopes(who);
}

void set_scoped(actor *who) {
  int64_t value = make_whole(pick_number(who, 1 << 30));
  MUST_BE(who, pd_flag_set_int64(PD_SCOPED_FLAG(scope_number), value, NULL), PD_OK);
  check_scopes(who);
}

static void free_lent(lent_context *lent) {
  if (lent) pd_scope_release(lent->context);
  free(lent);
}

void lend_context(actor *who) {
  if (!who->scope_count) return;
  lent_context *lent = malloc(sizeof *lent);
  MUST(who, lent);
  lent->value = PD_SCOPED(scope_number);
  MUST_BE(who, pd_scope_capture(&lent->context, NULL), PD_OK);
  lent_context **to = &mailbox[pick_number(who, THREADS)];
  free_lent(__atomic_exchange_n(to, lent, __ATOMIC_ACQ_REL));
}

/* A scope that is opened on top, and left open, ends when the context is detached. */
void borrow_context(actor *who) {
  pd_scope attached = 0;
  lent_context *lent = __atomic_exchange_n(&mailbox[who->number], NULL, __ATOMIC_ACQ_REL);
  if (!lent) return;
  MUST_BE(who, pd_scope_attach(lent->context, &attached, NULL), PD_OK);
  MUST(who, PD_SCOPED(scope_number) == lent->value);
  open_scope inner = open_whole(who);
  MUST(who, PD_SCOPED(scope_number) == inner.value);
  if (pick_number(who, 2)) MUST_BE(who, pd_scope_pop(inner.number, NULL), PD_OK);
  MUST_BE(who, pd_scope_detach(attached, NULL), PD_OK);
  free_lent(lent);
  check_scopes(who);
}
