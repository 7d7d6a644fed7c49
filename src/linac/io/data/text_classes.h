#pragma once
// Which class of a model's output each text of a column is. Pure functions on tables that are open.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/cache/packed_table.h"
#include "linac/io/data/event_table.h"

namespace linac::data {

/// Of one column in a set of files.
struct SettledClasses {
  std::vector<std::string> names;           // in the order of the output; empty: the files hold numbers
  std::vector<std::vector<size_t>> places;  // of each file: of its texts, by their codes, in names
};

/// `place`: of the column in the tables. Data error naming file, event and text for one that is not among the names
/// that are given, for files of which some hold texts and some numbers, and where there are not as many classes as the
/// output tells apart; user error for names that cannot be.
SettledClasses settle_classes(const std::vector<std::shared_ptr<const PackedTable>>& tables, size_t place,
                              const ColumnRequest& request);

/// "QCD, W+jets, ttbar", cut where there are many.
std::string list_of_classes(const std::vector<std::string>& names);

}  // namespace linac::data
