#pragma once
// Where a worker's time goes: wall and CPU seconds by phase. Communication is what computing does not hide: the wait
// from the end of a worker's own computing on. One clock a process, used by its main thread.

#include <array>
#include <ctime>
#include <functional>

#include "linac/base/base/trace.h"
#include "linac/base/job/phases.h"
#include "linac/train/train/record/step_clock.h"

namespace linac::train {

using TimePhase = job::Phase;

class PhaseClock {
 public:
  struct Seconds {
    double wall = 0, cpu = 0;
  };

  /// Adds the time until the end of the scope to `phase`.
  class Scope {
   public:
    Scope(PhaseClock& clock, TimePhase phase)
        : span_(job::name_of(phase)), clock_(clock), phase_(phase), begin_(now()) {
      if (clock.on_change_) clock.on_change_(job::name_of(phase));
    }
    ~Scope() {
      if (clock_.on_change_) clock_.on_change_("between two phases");
      clock_.add(phase_, begin_, now());
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const trace::Span span_;
    PhaseClock& clock_;
    TimePhase phase_;
    Seconds begin_;
  };

  /// For phases that run beside each other: their times are measured elsewhere.
  void add(TimePhase phase, const Seconds& begin, const Seconds& end) {
    Seconds& sum = seconds_[static_cast<size_t>(phase)];
    sum.wall += end.wall - begin.wall;
    sum.cpu += end.cpu - begin.cpu;
  }

  /// What the phases of steps are made of.
  StepClock& steps() { return steps_; }
  const StepClock& steps() const { return steps_; }

  /// Called with the name of each phase that begins, for those who watch.
  void on_change(std::function<void(const char*)> told) { on_change_ = std::move(told); }

  const Seconds& operator[](TimePhase phase) const { return seconds_[static_cast<size_t>(phase)]; }
  static Seconds now() { return {read(CLOCK_MONOTONIC), read(CLOCK_PROCESS_CPUTIME_ID)}; }

 private:
  static double read(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  std::array<Seconds, job::kPhases.size()> seconds_{};
  StepClock steps_;
  std::function<void(const char*)> on_change_;
};

}  // namespace linac::train
