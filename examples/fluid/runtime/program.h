// A program as data: blocks of variables and operators. Nothing in it says how an operator works.
#ifndef FLUID_PROGRAM_H
#define FLUID_PROGRAM_H

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace fluid {

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

  // In the block, then in those around it; nullptr if none has it.
  const VarDesc *find(int32_t block, const std::string &name) const {
    for (; block >= 0; block = blocks[static_cast<size_t>(block)].parent) {
      const auto &vars = blocks[static_cast<size_t>(block)].vars;
      const auto found = vars.find(name);
      if (found != vars.end()) return &found->second;
    }
    return nullptr;
  }
};

}  // namespace fluid

#endif  // FLUID_PROGRAM_H
