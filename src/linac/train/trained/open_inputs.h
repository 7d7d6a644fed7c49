#pragma once
// Models that leave sizes of their inputs open (model/graph/open_sizes.h) get one size for all events: the one that the
// user gives, or that of the data. Lists of rows get the length of the longest; shorter ones are padded with zeros,
// which masks hide. So an event's result does not depend on the events beside it. Thread-safe functions.

#include <string>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/model/graph/graph.h"

namespace linac::trained {

struct InputSizes {
  std::vector<graph::Shape> shapes;  // of the inputs, in the model's order
  std::vector<std::string> words;    // for people, of each input with an open size: "x (None, 8): (37, 8), ..."
};

/// `given`: of each input what the user says, empty where he does not. `columns`: what is read of the files, the inputs
/// first, with the model's present shapes. Reads the files if it must. Data errors as data::EventTable::open; user
/// error for sizes that the files do not say.
InputSizes input_sizes(const graph::Graph& model, const std::vector<graph::Shape>& given,
                       const std::vector<std::string>& urls, std::vector<data::ColumnRequest> columns,
                       const data::Transform& transform = {});

/// Those that a model was trained with, from the columns that its linac.json names; present shapes where there are
/// none.
std::vector<graph::Shape> trained_shapes(const graph::Graph& model, const std::vector<data::ColumnRequest>& inputs);

/// The shape by which an input's column is read: a sequence of numbers is a list of rows of one.
graph::Shape column_shape(const graph::Node& input);

}  // namespace linac::trained
