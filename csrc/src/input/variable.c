/* A variable that holds flags, as --name=value --name, in place of a command line that nobody can
 * change. */
#include <string.h>

#include "input.h"

static bool is_separator(char c) { return c && strchr(" \t\r\n\v\f", c); }

/* Reads one word, quoted as in a shell, into *out and ends it. Returns what follows; NULL if a
 * quote isn't closed. */
static const char *read_quoted_word(const char *in, char **out) {
  char quote = '\0';
  for (; *in && (quote || !is_separator(*in)); in++) {
    bool escapes = quote != '\'' && *in == '\\' && in[1];
    if (quote == '"') escapes &= in[1] == '"' || in[1] == '\\';
    if (escapes) {
      *(*out)++ = *++in;
    } else if (quote ? *in == quote : *in == '\'' || *in == '"') {
      quote = quote ? '\0' : *in;
    } else {
      *(*out)++ = *in;
    }
  }
  *(*out)++ = '\0';
  return quote ? NULL : in;
}

/* A word that isn't a flag may be a secret: messages don't show it. */
static void handle_variable_token(pd__reader *reader, const char *word, unsigned number,
                                  const char *place) {
  char escaped[PD__ESCAPED_SIZE];
  if (word[0] != '-' || !word[strspn(word, "-")]) {
    pd__reader_add_token_error(reader, NULL, PD_ERR_ARGV,
                               "environment: %s: word %u: expected --name=value",
                               pd__escape_text(escaped, place), number);
    return;
  }
  pd__token token = pd__token_split(word);
  token.origin = (pd_origin){PD_SOURCE_ENVIRONMENT, 0, place, 0};
  pd__meaning meaning = pd__token_resolve(&token);
  bool option = !meaning.flag && pd__token_is_known(&token);
  if (option && !pd__token_is_named(&token, "undefok")) {
    pd__reader_add_token_error(reader, &token, PD_ERR_ARGV,
                               ": expected a flag; of options, only --undefok");
  } else {
    pd__token_handle(reader, &token, &meaning);
  }
}

void pd__reader_read_flags_variable(pd__reader *reader, const char *variable) {
  pd__arena *arena = &reader->operation->arena;
  const char *text = pd__environment_get(variable);
  if (!text) return;
  const char *place = pd__arena_copy_text(arena, variable, strlen(variable));
  const char *in = pd__arena_copy_text(arena, text, strlen(text));
  char *out = pd__arena_alloc(arena, strlen(text) + 1);
  for (unsigned number = 1; place && in && out; number++) {
    char escaped[PD__ESCAPED_SIZE], *word = out;
    while (is_separator(*in)) in++;
    if (!*in) return;
    in = read_quoted_word(in, &out);
    if (in) {
      handle_variable_token(reader, word, number, place);
    } else {
      pd__reader_add_token_error(reader, NULL, PD_ERR_ARGV,
                                 "environment: %s: a quote is not closed",
                                 pd__escape_text(escaped, place));
    }
  }
}
