#pragma once
// Trials that another program has carried out, and a study made from them. Pure.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "linac/control/study/study_file.h"
#include "linac/control/tune/history.h"

namespace linac::study {

/// A trial that has ended.
struct GivenTrial {
  tune::Point point;
  tune::State state = tune::State::kComplete;
  std::vector<double> values;  // kComplete: one an objective
  std::string reason;
  std::vector<std::pair<int64_t, double>> curve;  // step, value of the first objective; steps rise
  double asked_s = 0, told_s = 0;                 // seconds since 1970; 0: not known
  size_t told_place = 0;                          // orders the ends of trials
};

struct GivenStudy {
  Study study;
  std::vector<GivenTrial> trials;  // as they began
  std::vector<std::string> notes;  // what was left out, and why
};

}  // namespace linac::study
