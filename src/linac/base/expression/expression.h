#pragma once
// A formula over the columns of an event, as a job writes it: `pt > 30 && abs(eta) < 2.5`, `sum(jets_pt)`. It is parsed
// once, into nodes of which each comes after those it takes; program.h gives it types and computes it. A plain value;
// parsing is pure and thread-safe. Foreign text: its length, nodes and depth are bounded, and it is fuzzed
// (fuzz/fuzz_expression.cpp). docs/guide/transforms.md has the language.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/expression/functions.h"

namespace linac::expression {

inline constexpr size_t kTextBytesMax = 4096;
inline constexpr size_t kNodesMax = 1000;
inline constexpr int kDepthMax = 60;

enum class NodeKind {
  kNumber,   // 1.5, pi, true
  kColumn,   // pt, `jet-pt`
  kCall,     // a function or an operator of operands
  kElement,  // x[2] of a list, x[2][3] of a list of rows
  kSlice,    // x[:, 3] of a list of rows
};

struct Node {
  NodeKind kind = NodeKind::kNumber;
  size_t place = 0;                     // in the text, bytes
  double number = 0;                    // kNumber
  bool boolean = false;                 // kNumber: true or false
  std::string name = {};                // kColumn
  const Function* function = nullptr;   // kCall
  std::vector<size_t> operands = {};    // nodes before this one
  std::vector<int64_t> positions = {};  // kElement, kSlice; below 0: from the end
};

struct Expression {
  std::string text;
  std::string where;        // what messages call it: "data.filter"
  std::vector<Node> nodes;  // the last one is the whole

  /// User error "[job] WHERE: WHAT at character N of "TEXT"WAY_OUT".
  [[noreturn]] void fail(size_t place, const std::string& what, const std::string& way_out = "") const;
  /// Each column once, in the order of the text.
  std::vector<std::string> columns() const;
  /// Where a column is named first; the end of the text if it is not.
  size_t place_of(const std::string& column) const;
};

/// User error that names the place for what is no expression, and the nearest name for an unknown function.
Expression parse(std::string_view text, const std::string& where);

/// A column's name as parse() takes it: in backticks where it is no plain word.
std::string quoted(const std::string& column);

}  // namespace linac::expression
