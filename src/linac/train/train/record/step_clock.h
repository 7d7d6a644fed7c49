#pragma once
// Where the time of a worker's steps goes (base/job/step_time.h). What a step tells counts once the step does: one that
// the group breaks off leaves nothing. Used by the main thread.

#include <string>

#include "linac/base/job/step_time.h"

namespace linac::train {

class StepClock {
 public:
  /// A step begins. Seconds of a clock, and in which this worker has waited for input so far.
  void begin(double now_s, double input_s) {
    now_ = {};
    begin_ = now_s;
    input_begin_ = input_s;
  }
  /// Of the step that is under way.
  job::NetworkTime& of(const std::string& network) { return now_.of(network); }
  /// The step counts; or `steps` of them, which have taken equally long as far as is known.
  void end(double now_s, double input_s, int64_t steps = 1) {
    now_.steps = steps;
    now_.wall_s = now_s - begin_;
    now_.squares_s2 = now_.wall_s * now_.wall_s / static_cast<double>(steps);
    now_.input_s = input_s - input_begin_;
    counted_ += now_;
    now_ = {};
  }

  const job::StepTime& counted() const { return counted_; }

 private:
  job::StepTime now_, counted_;
  double begin_ = 0, input_begin_ = 0;
};

}  // namespace linac::train
