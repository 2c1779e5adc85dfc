// Runs the operators of a block in order.
#ifndef FLUID_EXECUTOR_H
#define FLUID_EXECUTOR_H

#include <functional>

#include "kernel.h"

namespace fluid {

// Runs an operator of the host, such as those of RPC, by its number in the block; false: it failed.
using Host = std::function<bool(int32_t)>;

class Executor {
 public:
  // Finds all kernels. `hosted` are the types of operators that `host` runs.
  Executor(ProgramDesc program, int32_t block, const std::vector<std::string> &hosted, Host host);

  // Variables that stay are found in the scope and its parents, or made in the outermost one;
  // others are made in this scope. `batch` is the number of rows where the program says -1.
  void run(Scope *scope, int64_t batch);

 private:
  struct Step {
    const OpDesc *op;
    std::unique_ptr<Kernel> kernel;  // nullptr: the host runs it
  };

  Tensor *prepare(const std::string &name, bool output, Scope *scope, int64_t batch) const;
  void run_step(size_t index, Scope *scope, int64_t batch);
  void check(size_t index, Scope *scope) const;

  const ProgramDesc program_;
  int32_t block_;
  std::vector<Step> steps_;
  Host host_;
  std::vector<Tensor *> tensors_;  // of the operator that runs
};

}  // namespace fluid

#endif  // FLUID_EXECUTOR_H
