/* Contexts are balanced trees, in which each value is found, and which share their nodes.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "check.h"
#include "used.h"

#include <registry/context.h>

enum { FLAGS = 6, SCOPES = 400 };

static pd_flag flags[FLAGS];
static pd__scope *scopes[SCOPES];
static bool is_open[SCOPES];
static int gone;

static void free_scope(pd__scope *scope) {
  gone++;
  free(scope);
}

/* Each scope has values of one or two flags. */
static pd__scope *make_scope(int number) {
  static uint64_t order;
  size_t count = 1 + (size_t)number % 2;
  pd__scope *made = calloc(1, sizeof *made + count * sizeof *made->values);
  made->number = (pd_scope)number + 1;
  made->references = 1;
  made->count = count;
  for (size_t i = 0; i < count; i++) {
    made->values[i].flag = &flags[((size_t)number + 3 * i) % FLAGS];
    made->values[i].order = ++order;
    made->values[i].scope = made;
  }
  return made;
}

static bool comes_before(const pd_scope_context *a, const pd_scope_context *b) {
  return a->flag != b->flag ? a->flag < b->flag : a->order < b->order;
}

/* Returns the height. *last is the node before. */
static unsigned check_tree(const pd_scope_context *node, const pd_scope_context **last) {
  if (!node) return 0;
  unsigned left = check_tree(node->left, last);
  CHECK(!*last || comes_before(*last, node));
  *last = node;
  unsigned right = check_tree(node->right, last);
  CHECK(left <= right + 1 && right <= left + 1);
  CHECK(node->height == (left > right ? left : right) + 1 && node->references == 1);
  CHECK(node->flag == node->value->flag && node->order == node->value->order);
  return node->height;
}

static size_t count_nodes(const pd_scope_context *node) {
  return node ? count_nodes(node->left) + 1 + count_nodes(node->right) : 0;
}

/* Compares what is found with what the open scopes have. */
static void check_context(const pd_scope_context *context) {
  const pd_scope_context *last = NULL;
  const pd__scoped *latest[FLAGS] = {NULL};
  size_t values = 0;
  check_tree(context, &last);
  for (int i = 0; i < SCOPES; i++) {
    if (!scopes[i]) continue;
    CHECK(pd__context_has_scope(context, scopes[i]) == is_open[i]);
    for (size_t k = 0; is_open[i] && k < scopes[i]->count; k++) {
      const pd__scoped *value = &scopes[i]->values[k];
      const pd__scoped **newest = &latest[value->flag - flags];
      if (!*newest || (*newest)->order < value->order) *newest = value;
      values++;
    }
  }
  for (int i = 0; i < FLAGS; i++) CHECK(pd__context_find_latest(context, &flags[i]) == latest[i]);
  CHECK(count_nodes(context) == values);
}

static void open_scope(pd_scope_context **context, int number) {
  pd_scope_context *made = NULL;
  scopes[number] = make_scope(number);
  is_open[number] = true;
  CHECK(pd__context_copy_with_scope(*context, scopes[number], &made));
  pd__context_release(*context);
  *context = made;
}

static void end_scope(pd_scope_context **context, int number) {
  pd_scope_context *made = NULL;
  CHECK(pd__context_copy_without_scope(*context, scopes[number], &made));
  is_open[number] = false;
  scopes[number] = NULL;
  int before = gone;
  pd__context_release(*context);
  CHECK(gone == before + 1);
  *context = made;
}

static unsigned next_random(void) {
  static unsigned state = 1;
  state = state * 1103515245 + 12345;
  return state >> 16;
}

TEST(trees_stay_balanced_in_any_order_of_opening_and_ending) {
  pd_scope_context *context = NULL;
  pd__context_scope_gone = free_scope;
  for (int i = 0; i < SCOPES; i++) {
    open_scope(&context, i);
    if (i % 8 == 0) check_context(context);
  }
  CHECK(gone == 0);
  for (int left = SCOPES; left > 0; left--) {
    int at = 0;
    for (unsigned skip = next_random() % (unsigned)left; skip > 0 || !is_open[at]; at++) {
      skip -= is_open[at];
    }
    end_scope(&context, at);
    if (left % 8 == 0) check_context(context);
  }
  CHECK(!context && gone == SCOPES);
}

TEST(trees_stay_balanced_while_scopes_come_and_go) {
  pd_scope_context *context = NULL;
  pd__context_scope_gone = free_scope;
  for (int i = 0; i < 4 * SCOPES; i++) {
    int at = (int)(next_random() % 40);
    if (is_open[at]) {
      end_scope(&context, at);
    } else {
      open_scope(&context, at);
    }
    check_context(context);
  }
  pd__context_release(context);
}

TEST(a_context_that_is_held_keeps_its_scopes) {
  pd_scope_context *context = NULL;
  pd__context_scope_gone = free_scope;
  for (int i = 0; i < 10; i++) open_scope(&context, i);
  pd_scope_context *held = pd__context_retain(context), *made = NULL;
  CHECK(held == context && held->references == 2);
  pd__scope *fifth = scopes[5];
  CHECK(pd__context_copy_without_scope(context, fifth, &made));
  pd__context_release(context);
  CHECK(gone == 0 && pd__context_has_scope(held, fifth) && !pd__context_has_scope(made, fifth));
  pd__context_release(held);
  CHECK(gone == 1);
  pd__context_release(made);
  CHECK(gone == 10);
  CHECK(!pd__context_retain(NULL));
  pd__context_release(NULL);
}

static void open_and_end(int round) {
  pd_scope_context *context = NULL;
  (void)round;
  for (int i = 0; i < 20; i++) open_scope(&context, i);
  for (int i = 0; i < 10; i++) end_scope(&context, (7 * i) % 20);
  pd__context_release(context);
}

TEST(contexts_are_freed) {
  pd__context_scope_gone = free_scope;
  check_released(open_and_end, 20, 0);
}
