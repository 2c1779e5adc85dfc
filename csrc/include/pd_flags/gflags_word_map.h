/* The built-in flags of gflags. The registry has no flags of these names, so they are variables of
 * the program. */
#ifndef PD_FLAGS_GFLAGS_WORD_MAP_H
#define PD_FLAGS_GFLAGS_WORD_MAP_H

/* X(kind, name, file that gflags reports for it, as in --helpon=gflags; help, default). The kind
 * is TEXT, SWITCH (a bool) or NUMBER. */
#define PD__GFLAGS_WORD_MAP(X)                                                           \
  X(TEXT, flagfile, "", "read flags from these files, separated by commas", "")          \
  X(TEXT, fromenv, "",                                                                   \
    "set these flags from the environment: the variable FLAGS_name sets the flag name",  \
    "")                                                                                  \
  X(TEXT, tryfromenv, "", "as --fromenv, but the variables need not exist", "")          \
  X(TEXT, undefok, "",                                                                   \
    "names of flags, separated by commas, that may be undefined; their values have to be " \
    "written as --name=value", "")                                                       \
  X(SWITCH, help, "_reporting", "show help on all flags", false)                         \
  X(SWITCH, helpfull, "_reporting", "show help on all flags", false)                     \
  X(SWITCH, helpshort, "_reporting", "show help on the flags of the program itself", false) \
  X(TEXT, helpon, "_reporting",                                                          \
    "show help on the flags of the source files of this name", "")                       \
  X(TEXT, helpmatch, "_reporting",                                                       \
    "show help on the flags of source files with this text in their paths", "")          \
  X(SWITCH, helppackage, "_reporting",                                                   \
    "show help on the flags of the directory of the program's source", false)            \
  X(SWITCH, helpxml, "_reporting", "show help on all flags as XML", false)               \
  X(SWITCH, version, "_reporting", "show the version of the program", false)             \
  X(TEXT, tab_completion_word, "_completions",                                           \
    "list the flags that begin with this text", "")                                      \
  X(NUMBER, tab_completion_columns, "_completions",                                      \
    "width of the list of completions, in columns", 80)

#endif /* PD_FLAGS_GFLAGS_WORD_MAP_H */
