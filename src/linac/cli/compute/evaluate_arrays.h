#pragma once
// What `linac evaluate` judges: predictions and truth of the same events, from files or computed by a model.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/cli/compute/model_events.h"
#include "linac/io/data/transform/transform.h"
#include "linac/physics/scores/labels.h"
#include "linac/physics/scores/task.h"

namespace linac::cli {

/// [rows][width] with a name for messages.
struct Array {
  std::vector<float> values;
  size_t width = 1;
  std::string name;
};

/// Where they come from, as the verb's options say it.
struct ArraySources {
  ModelEventsOptions model;  // its task and logits are those of predictions, too
  std::string predictions, field, targets, weights, compare;
  std::vector<std::string> names;
};

struct Arrays {
  scores::Task task = scores::Task::kClasses;
  Array targets;
  Array weights;              // no values: all rows count 1
  std::vector<Array> models;  // one or two; of classes and labels probabilities
  /// Of a sequence of outputs, of which each step that is there is a row: the event of each; else empty.
  std::vector<uint32_t> event_of_row;
  std::vector<std::string> names;
  std::vector<std::string> classes;           // as the model names them; may be empty
  std::vector<std::string> remarks;           // for the report
  std::string target;                         // of a model: the column of the truth
  std::optional<data::SplitRule> split = {};  // of a model: that of its training

  scores::Table table(const Array& array) const {
    return {.values = array.values, .width = array.width, .name = array.name, .event_of_row = event_of_row};
  }
  size_t rows() const { return targets.values.size() / targets.width; }
};

/// User error for options that do not fit together, for an output or a data set that is not there; data error for
/// events that are no list of numbers.
Arrays read_arrays(const ArraySources& sources);

}  // namespace linac::cli
