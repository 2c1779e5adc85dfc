/* The exported functions, and the table of those that work on the registry. The copy that hosts the
 * registry does the work, and the others forward to it. Nothing in the library calls this file. */
#define PD__EXPORTS
#include <string.h>

#include "base/work.h"
#include "module/module.h"

/* ---- Functions that need no registry ---- */

#define PD__PURE_S(name, parameters, arguments)                                                    \
  pd_status pd_##name parameters { return pd__do_##name arguments; }
#define PD__PURE_R(result, name, parameters, arguments)                                            \
  result pd_##name parameters { return pd__do_##name arguments; }
#define PD__PURE_V(name, parameters, arguments)                                                    \
  void pd_##name parameters { pd__do_##name arguments; }
PD__PURE_MAP(PD__PURE_S, PD__PURE_R, PD__PURE_V)

/* ---- The table of this copy ---- */

/* The function of a row, or NULL if PD__WITHOUT_<name> is defined: that macro is a comma, which
 * moves NULL to the second place. */
#define PD__SECOND(first, second, ...) second
#define PD__CHOOSE(...) PD__SECOND(__VA_ARGS__)
#define PD__ROW(name) PD__CHOOSE(PD__WITHOUT_##name NULL, pd__do_##name, 0)

#if defined(PD_WITHOUT_REPORT)
#define PD__WITHOUT_report_help ,
#define PD__WITHOUT_report_flagfile ,
#define PD__WITHOUT_report_json ,
#endif
#if defined(PD_WITHOUT_INPUT)
#define PD__WITHOUT_parse_argv ,
#define PD__WITHOUT_environment_enable ,
#define PD__WITHOUT_environment_hold ,
#define PD__WITHOUT_environment_release ,
#define PD__WITHOUT_config_new ,
#define PD__WITHOUT_config_free ,
#define PD__WITHOUT_config_add ,
#define PD__WITHOUT_config_set_environment ,
#define PD__WITHOUT_config_add_flagfile ,
#define PD__WITHOUT_config_fail ,
#define PD__WITHOUT_config_apply ,
#define PD__WITHOUT_config_check ,
#define PD__WITHOUT_program_set ,
#define PD__WITHOUT_program_get ,
#endif

#define PD__OWN_S(name, parameters, arguments) PD__ROW(name),
#define PD__OWN_R(result, name, parameters, arguments) PD__ROW(name),
#define PD__OWN_V(name, parameters, arguments) PD__ROW(name),
static const pd_table own_table = {
    {PD_ABI_VERSION, sizeof(pd_table), pd__module_join, pd__module_leave},
    PD_TABLE_MAP(PD__OWN_S, PD__OWN_R, PD__OWN_V)};

extern void pd__api_start(void);
PD__HIDDEN __attribute__((used)) void pd__api_start(void) {
  pd__copies_find_or_elect_host(&own_table);
}
PD__PLATFORM_AT_START(pd__api_start);

/* ---- Forwarding ---- */

#define FIRST offsetof(pd_table, error_list_new)
#define PD__NAME_S(name, parameters, arguments) #name "\0"
#define PD__NAME_R(result, name, parameters, arguments) #name "\0"
#define PD__NAME_V(name, parameters, arguments) #name "\0"
static const char names[] = PD_TABLE_MAP(PD__NAME_S, PD__NAME_R, PD__NAME_V);

static const char *find_function_name(size_t offset) {
  const char *name = names;
  for (; offset > FIRST; offset -= sizeof(void (*)(void))) name += strlen(name) + 1;
  return name;
}

/* The slow path: finds the host, or NULL if it lacks the function at the offset. */
static __attribute__((noinline)) const pd_table *find_table_with_function(size_t offset) {
  const pd_table *table = pd__copies_find_or_elect_host(&own_table);
  return table && pd__table_has_function(table, offset) ? table : NULL;
}

static pd_status fail_missing_function(size_t offset, pd_error *err) {
  const pd_table *table = pd__copies_find_or_elect_host(&own_table);
  const char *name = find_function_name(offset);
  if (!table) {
    return pd__fail(err, PD_ERR_ABI,
                    "pd_%s: the registry of this process has another ABI version, expected %d",
                    name, PD_ABI_VERSION);
  }
  return pd__fail(err, PD_ERR_UNSUPPORTED,
                  "pd_%s: the registry of this process is hosted by version %s, which lacks it",
                  name, table->version());
}

#define PD__TABLE_FOR(name)                                                                        \
  const pd_table *table = __atomic_load_n(&pd__complete_table, __ATOMIC_ACQUIRE);                  \
  if (!table) table = find_table_with_function(offsetof(pd_table, name))
#define PD__FORWARD_S(name, parameters, arguments)                                                 \
  pd_status pd_##name parameters {                                                                 \
    PD__TABLE_FOR(name);                                                                           \
    return table ? table->name arguments : fail_missing_function(offsetof(pd_table, name), err);   \
  }
#define PD__FORWARD_R(result, name, parameters, arguments)                                         \
  result pd_##name parameters {                                                                    \
    PD__TABLE_FOR(name);                                                                           \
    return table ? table->name arguments : (result)0;                                              \
  }
#define PD__FORWARD_V(name, parameters, arguments)                                                 \
  void pd_##name parameters {                                                                      \
    PD__TABLE_FOR(name);                                                                           \
    if (table) table->name arguments;                                                              \
  }
PD_TABLE_MAP(PD__FORWARD_S, PD__FORWARD_R, PD__FORWARD_V)
