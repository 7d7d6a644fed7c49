#pragma once
// The trace of a run on its way: steps that are to be traced still, on all ranks alike. One thread.

#include <cstdint>
#include <optional>
#include <string>

#include "linac/base/base/trace.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/record/trace_steps.h"

namespace linac::train {

class RunTrace {
 public:
  explicit RunTrace(std::optional<TraceSteps> wanted) : wanted_(wanted) {}

  /// Collective: all want what `source` does.
  void agree(comm::Group& group, int source);
  /// The step that comes; they count from 1.
  void begin(int64_t step);
  bool is_wanted() const { return wanted_.has_value(); }
  /// Whether its last step is behind so many.
  bool is_over(int64_t steps) const { return wanted_ && steps >= wanted_->last; }
  bool has_begun(int64_t steps) const { return wanted_ && steps >= wanted_->first; }
  /// Collective, once it has begun: the file's text at rank 0 (trace_file.h), elsewhere nothing. None is wanted then.
  /// After an error nothing is lost: the next view gathers it.
  std::string gather(comm::Group& group);
  /// None of the steps comes, which is said if `tells`; none is wanted any more.
  void give_up(bool tells);

 private:
  std::optional<TraceSteps> wanted_;
  std::optional<trace::Recorded> mine_;  // until all have theirs
};

}  // namespace linac::train
