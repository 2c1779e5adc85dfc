/* The values of files or of the fleet, kept until they are applied. Nothing here needs the lock: a
 * pd_config is used by one thread at a time. */
#include <stdlib.h>
#include <string.h>

#include "input.h"

pd_status pd_config_new(pd_source source, pd_config **out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  if (source != PD_SOURCE_FILE && source != PD_SOURCE_FLEET) {
    return pd__fail(err, PD_ERR_ARGUMENT, "source is %d, expected %s or %s", (int)source,
                    pd_source_name(PD_SOURCE_FILE), pd_source_name(PD_SOURCE_FLEET));
  }
  pd_config *made = calloc(1, sizeof *made);
  if (!made) return pd__fail_memory(err);
  made->source = source;
  strcpy(made->rules.prefix, "FLAGS_");
  *out = made;
  return PD_OK;
}

void pd_config_free(pd_config *config) {
  if (!config) return;
  pd__arena_free(&config->arena);
  free(config);
}

pd_status pd_config_set_environment(pd_config *config, const char *env_prefix,
                                    bool env_ignore_empty, bool env_files, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  const char *prefix = env_prefix ? env_prefix : "FLAGS_";
  pd_status status = pd__environment_check_prefix(prefix, err);
  if (status != PD_OK) return status;
  config->rules.ignore_empty = env_ignore_empty;
  config->rules.read_files = env_files;
  strcpy(config->rules.prefix, prefix);
  return PD_OK;
}

pd_status pd__config_append_token(pd_config *config, const pd__token *token, pd_error *err) {
  pd__arena *arena = &config->arena;
  pd__token made = *token;
  const char *text = token->text, *place = token->origin.place;
  made.origin.source = config->source;
  made.name = pd__arena_copy_text(arena, token->name, token->length);
  if (text) made.text = pd__arena_copy_text(arena, text, strlen(text));
  if (place) made.origin.place = pd__arena_copy_text(arena, place, strlen(place));
  bool kept = made.name && (made.text || !text) && (made.origin.place || !place) &&
              pd__tokens_add(arena, &config->values, made);
  return kept ? PD_OK : pd__fail_memory(err);
}

pd_status pd_config_add(pd_config *config, const char *name, const char *text, uint32_t literal,
                        const pd_origin *origin, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  if (!name) return pd__fail_null(err, "name");
  if (!text) return pd__fail_null(err, "text");
  if (literal && !pd__literal_is_known(literal)) {
    return pd__fail(err, PD_ERR_ARGUMENT, "literal is %u, expected 0, a pd_type, or one for a list",
                    (unsigned)literal);
  }
  pd__token token = {.dashes = "",
                     .name = name,
                     .length = (uint32_t)strlen(name),
                     .text = text,
                     .literal = (uint8_t)literal,
                     .origin = origin ? *origin : (pd_origin){config->source, 0, NULL, 0}};
  return pd__config_append_token(config, &token, err);
}

pd_status pd_config_fail(pd_config *config, const pd_error *error, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  if (!error) return pd__fail_null(err, "error");
  if (error->status == PD_OK) return pd__fail(err, PD_ERR_ARGUMENT, "error->status is PD_OK");
  pd_error broken = *error; /* its message may lack the final NUL */
  broken.message[sizeof broken.message - 1] = '\0';
  pd__token token = {
      .dashes = "", .name = "", .text = broken.message, .status = (uint8_t)broken.status};
  return pd__config_append_token(config, &token, err);
}
