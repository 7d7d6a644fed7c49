#pragma once
// A part of the record (run_record.h): what a plan needs of a training beside its times. Shares are of the time of a
// step in which a worker's replicas are computed side by side, so they hold on any machine.

#include <cstdint>
#include <vector>

#include "linac/base/job/record_fields.h"

namespace linac::job {

/// A part of an update's message.
struct OutlinedPart {
  static constexpr const char* kName = "OutlinedPart";
  double bytes = 0, left = 0;

  template <class V>
  static void fields(V&& v) {
    v({"bytes", "bytes", ""}, &OutlinedPart::bytes);
    v({"left", "", "share of the step that is computed after it is there"}, &OutlinedPart::left);
  }
};

struct OutlinedUpdate {
  static constexpr const char* kName = "OutlinedUpdate";
  double beside = 0, every = 1;
  std::vector<OutlinedPart> parts;

  template <class V>
  static void fields(V&& v) {
    v({"beside", "", "share of the step that needs nothing of it, computed while it travels"}, &OutlinedUpdate::beside);
    v({"every", "steps", "from one of it to the next"}, &OutlinedUpdate::every);
    v({"parts", "", "of its message, in the order in which they travel"}, &OutlinedUpdate::parts);
  }
};

struct TrainingOutline {
  static constexpr const char* kName = "TrainingOutline";
  int64_t steps_per_epoch = 0;
  double flop = 0;
  std::vector<OutlinedUpdate> updates;

  template <class V>
  static void fields(V&& v) {
    v({"steps_per_epoch", "", ""}, &TrainingOutline::steps_per_epoch);
    v({"flop", "", "of a step of one replica, about; 0: not known"}, &TrainingOutline::flop);
    v({"updates", "", "of a step"}, &TrainingOutline::updates);
  }
};

}  // namespace linac::job
