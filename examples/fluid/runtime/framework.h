// Variables in scopes, and programs as data: blocks of variables and operators. Nothing here says
// how an operator works.
#ifndef FLUID_FRAMEWORK_H
#define FLUID_FRAMEWORK_H

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace fluid {

// What went wrong. It never leaves the library: fluid.cc catches it.
struct Failure {
  explicit Failure(std::string text) : message(std::move(text)) {}

  std::string message;
  bool not_finite = false;  // found by check_nan_inf: then all below is known
  int32_t op = -1;          // in its block
  std::string variable;
  int64_t row = -1, column = -1;
};

// A matrix, one row after the other, in memory of its own.
class Tensor {
 public:
  // Give it another shape; the elements are then undefined. Throws Failure for an unknown dtype.
  void resize(const std::string &dtype, int64_t rows, int64_t columns);

  void *data() const { return data_.get(); }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool is_f64() const { return item_ == sizeof(double); }

 private:
  std::unique_ptr<double[]> data_;  // of doubles, for the alignment
  size_t item_ = 0;                 // bytes of an element
  size_t capacity_ = 0;             // doubles
  int64_t rows_ = 0, columns_ = 0;
};

// Tensors by name. A scope finds the names of its parents too.
class Scope {
 public:
  explicit Scope(Scope *parent) : parent_(parent) {}

  // A scope within this one, which ends with it if drop has not ended it before.
  Scope *new_scope();
  void drop(Scope *kid);

  Scope *parent() const { return parent_; }
  Scope *outermost() { return parent_ ? parent_->outermost() : this; }

  // The variable of this name in this very scope; it is made if it isn't there.
  Tensor *var(const std::string &name) { return &vars_[name]; }

  // In this scope, then in its parents; nullptr if no scope has it.
  Tensor *find(const std::string &name);

 private:
  Scope *parent_;
  std::unordered_map<std::string, Tensor> vars_;
  std::vector<std::unique_ptr<Scope>> kids_;
};

struct VarDesc {
  std::string dtype;      // f32 or f64
  int64_t rows, columns;  // rows of -1: as many as the batch has
  bool persistable;       // stays when a run ends: parameters
};

struct OpDesc {
  std::string type, place;
  std::vector<std::string> outputs, inputs;  // names of variables; "" for what nobody wants
  std::vector<double> attributes;
};

struct BlockDesc {
  int32_t parent;  // -1: none
  std::unordered_map<std::string, VarDesc> vars;
  std::vector<OpDesc> ops;
};

struct ProgramDesc {
  std::deque<BlockDesc> blocks;

  // Read what Program.serialized() of program.py has written.
  static ProgramDesc parse(const std::string &text);

  // In the block, then in those around it; nullptr if none has it.
  const VarDesc *find(int32_t block, const std::string &name) const;
};

}  // namespace fluid

#endif  // FLUID_FRAMEWORK_H
