#pragma once
// What a TransformedTable asks its file for, and the formulas with their types. Made once a file. Not thread-safe.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linac/base/expression/program.h"
#include "linac/io/data/transform/columns.h"
#include "linac/io/data/transform/table.h"

namespace linac::data {

/// A column of the file, by its place among those that are asked for, or a computed one.
struct ColumnSource {
  bool computed = false;
  size_t place = 0;
};

struct Formula {
  expression::Program program;
  std::vector<ColumnSource> sources;  // of its columns
};

struct PlannedRule {
  std::optional<Formula> filter, sort;
  int64_t first = 0;
  std::vector<size_t> columns;  // of the file: all that are read of those it names
  std::string where;
};

struct PlannedColumn {
  std::string name;
  Formula formula;
};

struct Plan {
  std::unique_ptr<TableReader> reader;
  std::vector<WantedColumn> asked;   // of the reader
  std::vector<BlockColumn> columns;  // those, without data
  std::vector<PlannedRule> rules;
  std::vector<PlannedColumn> computed;  // each after those that it names
  std::optional<Formula> filter;
  std::vector<ColumnSource> keys;
  std::vector<ColumnSource> outputs;  // of each wanted column
  std::vector<StoredColumn> stored;   // how each wanted column is stored
};

Plan plan_of(const std::string& name, const std::vector<WantedColumn>& columns, const Transform& transform,
             const OpenReader& open);

}  // namespace linac::data
