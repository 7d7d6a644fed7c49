#pragma once
// The events of a job, for the verbs of `linac data`.

#include <string>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/io/data/transform/transform.h"

namespace linac::cli {

/// By its ending.
bool names_job(const std::string& file);

/// How many events of each file the job trains and tests on, and their order; `as_json`: the files as the run's record
/// has them, and `order`: {"kind": "exact" or "windowed", "window", "why"}. Errors as those
/// of `linac check`.
void print_job_data(const std::string& job, bool as_json);

/// What the job makes of its training events; nothing for an empty name. User error for a split without a key, which
/// follows from what a model reads, unless it does not matter (`need_key`).
data::Transform transform_of_job(const std::string& job, bool need_key = true);

/// Columns that are lists of rows get the padding that they have as inputs of the job's model, where it is a Keras
/// file; nothing for an empty name.
void set_padding_of_job(const std::string& job, std::vector<data::ColumnRequest>& columns);

}  // namespace linac::cli
