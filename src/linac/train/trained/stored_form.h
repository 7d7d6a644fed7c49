#pragma once
// How files store a column, as far as a model's outputs ask for it. Pure but for reading files.

#include <string>
#include <vector>

#include "linac/io/data/event_table.h"

namespace linac::trained {

/// Whether a column, of the files or computed, has fewer than `axes` axes in an event, or of one axis one value alone,
/// as the first of the files says it. Data errors as data::open_table_reader.
bool has_fewer_axes(const std::string& column, int axes, const std::vector<std::string>& urls,
                    const data::Transform& transform);

}  // namespace linac::trained
