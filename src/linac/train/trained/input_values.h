#pragma once
// What the layers of a model ask of the values that its inputs read.

#include "linac/io/data/event_table.h"
#include "linac/model/graph/graph.h"

namespace linac::trained {

/// Data error naming file, event, column, value and layer where an input's column, one of the table's first, holds what
/// a layer cannot take as an index or a category. Values that are scaled are another's.
void need_input_values(const data::EventTable& table, const graph::Graph& model);

}  // namespace linac::trained
