/* What a name means. */
#include <string.h>

#include "flag.h"
#include "registry.h"

pd_flag *pd__names_find_defined_node(const char *name, size_t length) {
  pd_flag *node = pd__names_find(name, length);
  if (!node || node->defined) return node;
  pd_flag *flag = pd__resolve_alias(node);
  if (!flag->defined) return NULL;
  if (node->old_name) pd__warn_of_deprecated_name(node, flag);
  return node;
}

pd__meaning pd__resolve_flag_or_negation(const char *name, size_t length) {
  pd_flag *node = pd__names_find_defined_node(name, length);
  if (node) return (pd__meaning){pd__resolve_alias(node), node, false};
  pd__meaning none = {NULL, NULL, false};
  if (length < 3 || strncmp(name, "no", 2) != 0) return none;
  node = pd__names_find_defined_node(name + 2, length - 2);
  bool dash = name[2] == '-' || name[2] == '_';
  if (!node && dash) node = pd__names_find_defined_node(name + 3, length - 3);
  pd_flag *flag = node ? pd__resolve_alias(node) : NULL;
  return (pd__meaning){flag, flag, flag != NULL};
}

pd_status pd__fail_undefined(const char *name, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE], suggestion[PD__SUGGESTION_SIZE];
  if (!err) return PD_ERR_UNDEFINED;
  pd__suggest_name(name, strlen(name), NULL, suggestion);
  return pd__fail(err, PD_ERR_UNDEFINED, "no flag is named '%s'%s", pd__escape_text(escaped, name),
                  suggestion);
}
