#pragma once
// Weights of classes such that each counts the same in the training events. Pure but for reading events; every worker
// computes the same.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/io/data/event_table.h"

namespace linac::train {

/// What the events of each class count together: their number, or the sum of column `weight`. `target`: the column of
/// class numbers (`sparse`), of one number (the second class above 0.5) or of one place a class. Data error for
/// events of another class; user error for a target of other places.
std::vector<double> totals_of_classes(const data::EventTable& table, size_t target, std::optional<size_t> weight,
                                      int64_t classes, bool sparse);

/// all / (classes x total of the class), as scikit-learn's "balanced". User error for a class that counts nothing or
/// less; `names` may be empty.
std::vector<double> balanced_weights(const std::vector<double>& totals, const std::vector<std::string>& names,
                                     const std::string& column);

}  // namespace linac::train
