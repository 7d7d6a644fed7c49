#pragma once
// Trials of a study that programs ask for: what asking, reporting, renewing and telling do. A trial that runs is leased
// to its holder, by a word that he knows. A lease that has run out is given to the next who asks: nothing is told, the
// point and what was reported stay. Pure but for the clock, which is given; one thread a study.

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linac/control/service/studies/desks.h"

namespace linac::service {

struct Told {
  int64_t trial = 0;
  tune::State state = tune::State::kComplete;
  std::vector<double> values;  // kComplete
  std::string reason;
  double cost = std::numeric_limits<double>::quiet_NaN();  // what it took; NaN: not known
};

/// The next trial for `holder`: the one that he has already, one whose lease has run out, or a new one. A trial that
/// was lost budget.attempts times is told to have failed, and the step is asked for `again`. Empty: there is none for
/// him.
StudyStep ask_step(OpenStudy& study, const std::string& holder, int64_t lease_ms, int64_t now_ms);
/// {"trial", "point", "lease", "seconds", "given", "step": last that was reported}; or {"trial": null, "done",
/// "seconds": after which to ask again}.
nlohmann::json ask_answer(const OpenStudy& study, const std::string& holder, int64_t now_ms);

// `holder` may be empty: then the study's owner speaks for whoever has the trial. kState for a trial that has ended, or
// is another's by now, and of a study that the queue carries out; kNotFound for one that there is not.

StudyStep renew_step(const OpenStudy& study, int64_t trial, const std::string& holder, int64_t lease_ms,
                     int64_t now_ms);
/// A step that is not after the last one was reported before, by who had the trial then: it counts as it was.
StudyStep report_step(const OpenStudy& study, int64_t trial, const std::string& holder, int64_t step, double value,
                      int64_t lease_ms, int64_t now_ms);
/// Nothing if it was told so before, kState if it was told otherwise.
StudyStep tell_step(const OpenStudy& study, const Told& told, const std::string& holder);

/// {"trial", "state", "point", "values", "reason", "curve", "asked_ms", "told_ms", "given", "cost"}, numbers as the API
/// has them.
nlohmann::json trial_words(const OpenStudy& study, const tune::Trial& trial);

constexpr int64_t kStudyTrialsMax = 20000, kStudyLinesMax = 1000000;

}  // namespace linac::service
