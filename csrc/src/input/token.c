/* Tokens: one value each, as it was written. */
#include <stdio.h>
#include <string.h>

#include "input.h"

pd__token *pd__tokens_add(pd__arena *arena, pd__tokens *list, pd__token token) {
  pd__token *items =
      pd__arena_grow_if_full(arena, list->items, list->count, &list->capacity, sizeof *items);
  if (!items) return NULL;
  list->items = items;
  items[list->count] = token;
  return &items[list->count++];
}

pd__token pd__token_split(const char *text) {
  pd__token token = {.dashes = text[1] == '-' ? "--" : "-"};
  token.name = text + (text[1] == '-' ? 2 : 1);
  const char *equals = strchr(token.name, '=');
  token.length = (uint32_t)(equals ? (size_t)(equals - token.name) : strlen(token.name));
  if (equals) token.text = equals + 1;
  return token;
}

bool pd__token_has_attached_secret(const pd__token *token) {
  return !strcmp(token->dashes, "-") && token->length > 1 &&
         pd__letter_has_sensitive_flag(*token->name);
}

size_t pd__token_get_nonsecret_length(const char *text) {
  pd__token token = pd__token_split(text);
  pd__meaning meaning = pd__token_resolve(&token);
  if (meaning.flag && !pd__flag_is_sensitive(meaning.flag)) return strlen(text);
  if (!meaning.flag && pd__token_has_attached_secret(&token)) return 2;
  return (size_t)(token.name - text) + token.length;
}

const char *pd__token_write_message_subject(const pd__token *token, char out[PD__SOURCE_SIZE]) {
  char place[PD__PREFIX_SIZE], name[PD__ESCAPED_SIZE];
  pd__escape_part(name, token->name, token->length);
  if (!strcmp(token->dashes, "--"))
    return pd__origin_write_message_subject(name, &token->origin, out);
  snprintf(out, PD__SOURCE_SIZE, "%s%s%s", pd__origin_write_message_prefix(&token->origin, place),
           token->dashes, name);
  return out;
}

bool pd__flag_has_same_value_from(pd_source source, const pd_flag *flag, const char *text) {
  pd__entry given;
  pd_value value;
  return pd__history_find_source_entry(flag, source, &given) &&
         pd__value_parse_with_unit(pd__flag_def(flag), text, &value) == PD_OK &&
         pd__value_is_equivalent(pd__flag_def(flag), given.value, value);
}

/* Returns what -vvv means: v, if that counts. */
static pd__meaning resolve_repeated_letter(const pd__token *token) {
  pd__meaning none = {NULL, NULL, false};
  if (token->text || strcmp(token->dashes, "-") != 0 || token->length < 2) return none;
  for (uint32_t i = 1; i < token->length; i++) {
    if (token->name[i] != token->name[0]) return none;
  }
  pd_flag *node = pd__names_find_defined_node(token->name, 1);
  pd_flag *flag = node ? pd__resolve_alias(node) : NULL;
  return flag && pd__flag_def(flag)->count ? (pd__meaning){flag, node, false} : none;
}

pd__meaning pd__token_resolve(const pd__token *token) {
  if (*token->dashes) {
    pd__meaning meaning = pd__resolve_flag_or_negation(token->name, token->length);
    return meaning.flag ? meaning : resolve_repeated_letter(token);
  }
  pd_flag *node = pd__names_find_defined_node(token->name, token->length);
  return (pd__meaning){node ? pd__resolve_alias(node) : NULL, node, false};
}
