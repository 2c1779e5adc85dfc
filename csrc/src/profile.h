/* What a small build leaves out. PD_PROFILE chooses; each profile lacks what the one
 * before it lacks, and more. The rows of what is missing are empty in this copy's
 * table: who calls such a function while this copy hosts the registry gets
 * PD_ERR_UNSUPPORTED, with its name and the version, which names the profile. The
 * files that the functions stand in are left out by the build (setup.py), and what
 * other files need of those stands in small/. */
#ifndef PD__PROFILE_H
#define PD__PROFILE_H

#define PD__FULL 0
#define PD__NO_REPORT 1 /* no help, no dump of values */
#define PD__NO_ARGV 2   /* no command line, flagfiles and settings */
#define PD__CORE 3      /* definitions, joining, get, set and values that wait; see docs */

#ifndef PD_PROFILE
#define PD_PROFILE PD__FULL
#endif

#if PD_PROFILE == PD__FULL
#define PD__VERSION PD_VERSION
#elif PD_PROFILE == PD__NO_REPORT
#define PD__VERSION PD_VERSION "+no-report"
#elif PD_PROFILE == PD__NO_ARGV
#define PD__VERSION PD_VERSION "+no-argv"
#else
#define PD__VERSION PD_VERSION "+core"
#endif

/* Conditions that take code out of files which stay: what command lines and files leave
 * behind; validators, watchers and warnings; lists and units; changes of several flags
 * together; pd_module_load; the short way to a host that lacks nothing; what is there for
 * speed alone. */
#define PD__LACKS_SHORTCUTS (PD_PROFILE >= PD__NO_REPORT)
#define PD__LACKS_ARGV (PD_PROFILE >= PD__NO_ARGV)
#define PD__LACKS_HOOKS (PD_PROFILE >= PD__CORE)
#define PD__LACKS_READINGS (PD_PROFILE >= PD__CORE)
#define PD__LACKS_BATCH (PD_PROFILE >= PD__CORE)
#define PD__LACKS_LOADS (PD_PROFILE >= PD__CORE)
#define PD__LACKS_WAY (PD_PROFILE >= PD__CORE)

/* A function on the way that most calls go, and one beside it. */
#if PD__LACKS_SHORTCUTS
#define PD__INLINE static inline
#else
#define PD__INLINE static inline __attribute__((always_inline))
#endif
#if PD_PROFILE == PD__CORE
#define PD__ASIDE static
#else
#define PD__ASIDE static __attribute__((noinline))
#endif

/* PD__ROW(name): the function of a row, or NULL where PD__WITHOUT_<name> is defined,
 * whose comma moves NULL to the second place. */
#define PD__SECOND(first, second, ...) second
#define PD__CHOOSE(...) PD__SECOND(__VA_ARGS__)
#define PD__ROW(name) PD__CHOOSE(PD__WITHOUT_##name NULL, pd__do_##name, 0)

#if PD_PROFILE >= PD__NO_REPORT
#define PD__WITHOUT_report_help ,
#define PD__WITHOUT_report_flagfile ,
#endif

#if PD_PROFILE >= PD__NO_ARGV
#define PD__WITHOUT_parse_argv ,
#define PD__WITHOUT_settings_new ,
#define PD__WITHOUT_settings_free ,
#define PD__WITHOUT_settings_add ,
#define PD__WITHOUT_settings_add_flagfile ,
#define PD__WITHOUT_settings_fail ,
#define PD__WITHOUT_settings_apply ,
#define PD__WITHOUT_program_set ,
#define PD__WITHOUT_program_get ,
#endif

#if PD_PROFILE >= PD__CORE
#define PD__WITHOUT_flag_get_info ,
#define PD__WITHOUT_flag_get_entry ,
#define PD__WITHOUT_flag_get_cell ,
#define PD__WITHOUT_flag_set_default ,
#define PD__WITHOUT_flag_drop ,
#define PD__WITHOUT_batch_set ,
#define PD__WITHOUT_layer_push ,
#define PD__WITHOUT_layer_pop ,
#define PD__WITHOUT_environment_enable ,
#define PD__WITHOUT_module_load ,
#define PD__WITHOUT_module_load_as ,
#define PD__WITHOUT_module_unload ,
#define PD__WITHOUT_module_get_info ,
#define PD__WITHOUT_module_get_flag ,
#define PD__WITHOUT_pending_get ,
#define PD__WITHOUT_pending_check ,
#define PD__WITHOUT_copy_get_info ,
#define PD__WITHOUT_validator_add ,
#define PD__WITHOUT_group_add ,
#define PD__WITHOUT_watcher_add ,
#define PD__WITHOUT_hook_remove ,
#define PD__WITHOUT_flags_validate ,
#define PD__WITHOUT_warning_handle ,
#endif

#endif /* PD__PROFILE_H */
