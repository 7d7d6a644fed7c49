#pragma once
// Formulas over the parameters of a space, by the module `expression`. Thread-safe: a program is used under a lock.

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "linac/base/expression/program.h"
#include "linac/control/tune/space.h"

namespace linac::tune {

class Constraints {
 public:
  /// User error "[study] constraints[2]: ..." for what is no formula that is true or false over the parameters.
  Constraints(std::span<const Parameter> parameters, const std::vector<std::string>& formulas);

  /// A formula over an inactive parameter, which is NaN, holds.
  bool allow(const Point& point);

 private:
  struct Formula {
    expression::Program program;
    std::vector<size_t> parameters;  // of its columns
  };
  std::mutex mutex_;
  std::vector<Formula> formulas_;
};

}  // namespace linac::tune
