#pragma once
// How much of an event file a training reads. Thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/transform/transform.h"
#include "linac/io/storage/source.h"

namespace linac::data {

/// The share of its bytes that hold these columns and those that the transform makes them of; 1 for a format that is
/// read whole, or does not tell (all but Parquet). Data error for what is damaged.
double read_share(const std::shared_ptr<const storage::Source>& source, const std::vector<std::string>& columns,
                  const Transform& transform);

}  // namespace linac::data
