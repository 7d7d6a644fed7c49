#pragma once
// What `linac evaluate` judges: predictions and truth of the same events, from files or computed by a model.

#include <string>
#include <vector>

#include "linac/cli/compute/model_events.h"
#include "linac/physics/scores/labels.h"

namespace linac::cli {

/// [events][width] with a name for messages.
struct Array {
  std::vector<float> values;
  size_t width = 1;
  std::string name;
  scores::Table table() const { return {.values = values, .width = width, .name = name}; }
};

/// Where they come from, as the verb's options say it.
struct ArraySources {
  ModelEventsOptions model;
  std::string predictions, field, targets, weights, compare;
  std::vector<std::string> names;
};

struct Arrays {
  Array targets;
  Array weights;              // no values: all events count 1
  std::vector<Array> models;  // one or two
  std::vector<std::string> names;
  std::vector<std::string> classes;  // as the model names them; may be empty
  std::vector<std::string> remarks;  // for the report
};

/// User error for options that do not fit together, for an output or a data set that is not there; data error for
/// events that are no list of numbers.
Arrays read_arrays(const ArraySources& sources);

}  // namespace linac::cli
