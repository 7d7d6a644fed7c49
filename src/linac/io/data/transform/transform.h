#pragma once
// What becomes of the columns of event files before they are packed: lists are sorted and cut, columns are computed,
// events are selected. A plain value, which belongs to a packed table's key; table.h carries it out. What its formulas
// mean: base/expression/expression.h.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linac/io/data/formats/table_reader.h"

namespace linac::data {

/// Lists of the files that belong together, row by row, in every event.
struct ListRule {
  std::vector<std::string> columns;
  std::string filter;  // a list of booleans: the rows that stay; empty: all
  std::string sort;    // a list of numbers: the rows in its rising order, equal ones as they are; empty: as they are
  int64_t first = 0;   // so many rows stay; 0: all
  bool operator==(const ListRule&) const = default;
};

enum class Part { kTrain, kValidation, kTest };
/// "train", "validation", "test".
const char* to_string(Part part);
std::optional<Part> part_named(std::string_view name);

/// Each event belongs to one part, by a hash of its key alone (split.h).
struct SplitRule {
  std::vector<std::string> key;     // columns, computed ones too
  double validation = 0, test = 0;  // their shares
  int folds = 0, fold = 0;          // in place of the validation's share: this one, from 1 on, of so many; 0: none
  Part part = Part::kTrain;         // which is read
  /// Whether it leaves events for the validation.
  bool tests() const { return validation > 0 || folds > 0; }
  /// Whether it deals all events into its folds: none of them is chosen.
  bool deals_folds() const { return folds > 0 && fold == 0; }
  bool operator==(const SplitRule&) const = default;
};

struct Transform {
  std::vector<ListRule> lists;                // first, one after the other
  std::map<std::string, std::string> define;  // then these; a formula may name other ones
  std::string filter;                         // then the events for which this holds; empty: all
  std::optional<SplitRule> split = {};        // and of those one part

  bool empty() const { return lists.empty() && define.empty() && !selects(); }
  bool selects() const { return !filter.empty() || split; }
  bool operator==(const Transform&) const = default;
};

/// The part of it that matters to who reads `columns`: what is selected, and what the columns and that need.
Transform needed_of(const Transform& transform, std::span<const WantedColumn> columns);

nlohmann::json to_json(const Transform& transform);
Transform transform_from_json(const nlohmann::json& json);

}  // namespace linac::data
