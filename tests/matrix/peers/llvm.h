/* LLVM's cl::opt, as plugin.cc, common.cc and host.cc use a flag library. */
#ifndef PEER_LIBRARY_H
#define PEER_LIBRARY_H

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#define DEFINE_NUMBER(name, value, help)                                                           \
  llvm::cl::opt<int> option_##name(#name, llvm::cl::desc(help), llvm::cl::init(value))
#define DEFINE_TEXT(name, value, help)                                                             \
  llvm::cl::opt<std::string> option_##name(#name, llvm::cl::desc(help), llvm::cl::init(value))
#define DECLARE_NUMBER(name) extern llvm::cl::opt<int> option_##name
#define GET(name) option_##name.getValue()

static int peer_argc;
static char **peer_argv;

/* Names that nobody has defined yet are errors, which go nowhere, and are passed over. */
static inline void peer_parse(int argc, char **argv) {
  peer_argc = argc;
  peer_argv = argv;
  llvm::cl::ParseCommandLineOptions(argc, argv, "", &llvm::nulls());
}

static inline void peer_again() {
  llvm::cl::ResetAllOptionOccurrences();
  peer_parse(peer_argc, peer_argv);
}

static inline llvm::cl::Option *peer_find(const char *name) {
  auto &all = llvm::cl::getRegisteredOptions();
  auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

static inline bool peer_set(const char *name, const char *text) {
  llvm::cl::Option *option = peer_find(name);
  if (!option) return false;
  option->reset();
  return !option->addOccurrence(1, name, text);
}

static inline int peer_number(const char *name) {
  llvm::cl::Option *option = peer_find(name);
  return option ? static_cast<llvm::cl::opt<int> *>(option)->getValue() : -1;
}

#endif
