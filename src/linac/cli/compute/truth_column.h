#pragma once
// The column that holds what an output of a model is to say. Pure but for reading files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/model/graph/graph.h"
#include "linac/physics/scores/task.h"

namespace linac::cli {

/// What is known of it.
struct WantedTruth {
  std::string column;   // "COLUMN", or "COLUMN,COLUMN,..." for columns that are joined
  graph::Shape output;  // of an event
  scores::Task task = scores::Task::kClasses;
  std::string name;                       // of the output, for messages
  std::vector<std::string> classes = {};  // where the column holds texts; empty: those of the files

  size_t count() const;  // of classes
};

/// The places of an output that are judged each by itself, steps of a sequence: 1 of one list or one number.
int64_t places_of(const graph::Shape& output);
/// Values of a place.
int64_t width_of(const graph::Shape& output);

/// "COLUMN", or "COLUMN,COLUMN,..." for columns that are joined. The scaling stays.
void rename(data::ColumnRequest& request, const std::string& text);

/// Values as the output has them; for classes one number of each place, where the first of the files has that: a class
/// number, or a text. Data errors as data::open_table_reader.
data::ColumnRequest truth_column(const WantedTruth& wanted, const std::vector<std::string>& urls,
                                 const data::Transform& transform);

/// What texts mean in such a column; nothing where it is none of classes.
std::optional<data::TextClasses> texts_of(const WantedTruth& wanted, const data::ColumnRequest& truth);

/// Data error naming file, event and value where the request is for class numbers and column i holds something else.
void need_class_numbers(const data::EventTable& table, size_t i, const WantedTruth& wanted);

}  // namespace linac::cli
