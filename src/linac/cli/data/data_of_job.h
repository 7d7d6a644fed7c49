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
  /// How many events of each file the job trains and tests on, and their order; `as_json`: the files as the run's
  /// record has them, and `order`: {"kind": "exact" or "windowed", "window", "why"}. Errors as those of `linac check`.
  virtual void print(const std::string& job, bool as_json) const = 0;
  /// What the job makes of its training events. User error for a split without a key, which follows from what a model
  /// reads, unless it does not matter (`need_key`).
  virtual data::Transform transform(const std::string& job, bool need_key) const = 0;
  /// Columns that are lists of rows get the padding that they have as inputs of the job's model, where it is a Keras
  /// file.
  virtual void set_padding(const std::string& job, std::vector<data::ColumnRequest>& columns) const = 0;
};
/// Before a verb runs; it stays.
void provide(const EventsOfJobs& events);
/// What was provided.
const EventsOfJobs& events_of_jobs();

/// By its ending.
bool names_job(const std::string& file);

}  // namespace linac::cli
