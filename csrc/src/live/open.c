/* What a server allows: pd_live_open and pd_live_close. */
#include <stdlib.h>
#include <string.h>

#include "../base/sized.h"
#include "../registry/journal.h"
#include "live.h"

#define TOKEN_MIN 16

static pd_status check_token(const pd_live_token *token, size_t index, pd_error *err) {
  size_t length = token->text ? strlen(token->text) : 0;
  bool right = length >= TOKEN_MIN && length < sizeof(((pd__token *)0)->text);
  for (size_t i = 0; right && i < length; i++) {
    right = token->text[i] > ' ' && token->text[i] <= '~';
  }
  if (!right) {
    return pd__fail(err, PD_ERR_ARGUMENT,
                    "token %zu: expected 16 to 512 printable ASCII characters without blanks",
                    index);
  }
  if (token->may == PD_LIVE_READ || token->may == (PD_LIVE_READ | PD_LIVE_CHANGE)) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT,
                  "token %zu: expected the right to read, or to read and change", index);
}

static pd_status check_options(const pd_live_options *options, pd_error *err) {
  pd_status status = PD_OK;
  if (!options->tokens && options->token_count > 0) return pd__fail_null(err, "options->tokens");
  for (size_t i = 0; status == PD_OK && i < options->token_count; i++) {
    status = check_token(&options->tokens[i], i, err);
  }
  if (status != PD_OK || !options->settable || pd__patterns_valid(options->settable)) return status;
  char shown[PD__QUOTE_SIZE];
  return pd__fail(err, PD_ERR_ARGUMENT,
                  "settable is '%s', expected names or patterns with * and ?, with commas between",
                  pd__quote_text(shown, options->settable));
}

/* Returns false if memory is out. */
static bool copy(const char *from, char **to) {
  size_t size = from ? strlen(from) + 1 : 0;
  *to = from ? malloc(size) : NULL;
  if (*to) memcpy(*to, from, size);
  return *to || !from;
}

static bool copy_tokens(pd_live *live, const pd_live_options *options) {
  live->tokens = calloc(options->token_count + 1, sizeof *live->tokens);
  if (!live->tokens) return false;
  for (size_t i = 0; i < options->token_count; i++) {
    const pd_live_token *from = &options->tokens[i];
    pd__token *token = &live->tokens[live->token_count++];
    strcpy(token->text, from->text);
    token->may = from->may;
    if (!copy(from->label, &token->label)) return false;
  }
  return true;
}

static pd_status make(const pd_live_options *options, pd_live **out, pd_error *err) {
  pd_live *live = calloc(1, sizeof *live);
  if (!live) return pd__fail_memory(err);
  live->holders = 1;
  live->audit = options->audit;
  live->context = options->context;
  live->polls = options->polls;
  live->fleet = options->answers & PD_LIVE_FLEET;
  bool whole = copy(options->settable, &live->settable) && copy(options->hosts, &live->hosts) &&
               copy(options->program, &live->program) && copy_tokens(live, options);
  PD__LOCKED_OPERATION(operation);
  whole = whole && pd__journal_start();
  if (options->resumes) pd__platform_defer_thread();
  if (!whole) pd__live_release(live);
  pd__operation_end(&operation);
  if (!whole) return pd__fail_memory(err);
  *out = live;
  return PD_OK;
}

pd_status pd_live_open(const pd_live_options *given, pd_live **out, pd_error *err) {
  pd_live_options options;
  if (!out) return pd__fail_null(err, "out");
#ifndef __linux__
  (void)make, (void)check_options;
  return pd__fail(err, PD_ERR_UNSUPPORTED, "serving flags is for Linux");
#endif
  size_t least = PD__SIZE_UP_TO(pd_live_options, program);
  pd_status status = pd__sized_copy_in(given, least, &options, sizeof options, "options", err);
  if (status == PD_OK) status = check_options(&options, err);
  return status == PD_OK ? make(&options, out, err) : status;
}

void pd_live_close(pd_live *live) {
  if (!live) return;
  PD__LOCKED_OPERATION(operation);
  pd__live_release(live);
  pd__operation_end(&operation);
}
