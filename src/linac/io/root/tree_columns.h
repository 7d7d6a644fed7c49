#pragma once
// How the columns of a tree are stored in the baskets of its branches.

#include <optional>
#include <vector>

#include "linac/io/root/numbers.h"
#include "linac/io/root/table.h"
#include "linac/io/root/tree_branches.h"

namespace linac::root {

struct TreeColumn {
  enum class Stored {
    kRows,     // the same number of bytes an event
    kList,     // as many values as fit between two entry offsets
    kVector,   // with a head and a length: std::vector
    kVectors,  // std::vector of std::vector
    kText,     // a length of one byte, or 255 and four; characters
  };
  const Branch* branch = nullptr;
  Stored stored = Stored::kRows;
  Type type = Type::kFloat;
  size_t stride = 0, offset = 0, values = 1;  // kRows: bytes of an event, where the values begin in it, how many
  size_t head = 0;                            // kList: bytes before the values of an event
};

struct DescribedColumn {
  ColumnInfo info;
  TreeColumn column;
};

/// Of a branch and of those below it. The branches outlive what is returned.
void describe_branch(const Branch& branch, const std::string& tree, std::vector<DescribedColumn>& out);

}  // namespace linac::root
