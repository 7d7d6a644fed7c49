#pragma once
// The events of a job, for the verbs of `linac data`. Which they are follows from the job's model, and models need
// LibTorch: so `linac-compute` answers itself, and `linac-data`, which starts without it, becomes `linac-compute`.

#include <string>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/io/data/transform/transform.h"

namespace linac::cli {

/// What a program knows of jobs. A call may not return: see above.
class EventsOfJobs {
 public:
  virtual ~EventsOfJobs() = default;
  virtual void print(const std::string& job, bool as_json) const = 0;
  virtual data::Transform transform(const std::string& job, bool need_key) const = 0;
  virtual void set_padding(const std::string& job, std::vector<data::ColumnRequest>& columns) const = 0;
};
/// Before a verb runs; it stays.
void provide(const EventsOfJobs& events);

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
