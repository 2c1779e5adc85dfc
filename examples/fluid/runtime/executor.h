// Finds the kernels of a block's operators, and runs them in order.
#ifndef FLUID_EXECUTOR_H
#define FLUID_EXECUTOR_H

#include <functional>

#include "framework.h"

namespace fluid {

using Function = void (*)();

// A kernel of an operator: found by name and signature, chosen by the flag impl.<name>.
class Kernel {
 public:
  // Throws Failure, which lists the signatures that there are, if none takes these arrays here.
  Kernel(const OpDesc &op, const std::string &dtype);
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  // Run what the flag chooses now. `tensors` are the outputs and the inputs; nullptr: not wanted.
  void run(const std::vector<Tensor *> &tensors, const std::vector<double> &attributes) const;

 private:
  Function slot_ = nullptr;  // the registry stores the chosen implementation here
  uint64_t number_ = 0;      // of this import in the registry
  size_t shape_;             // index of the caller for these numbers of parameters
  bool is_f64_;
  std::string type_;
};

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
