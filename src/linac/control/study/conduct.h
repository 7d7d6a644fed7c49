#pragma once
// What whoever carries out a study decides while its trials run, `linac tune` on its host and a service by its queue
// alike: whether another trial begins, and what is told of one that has ended. Pure.

#include <optional>
#include <string>
#include <vector>

#include "linac/control/study/ledger.h"
#include "linac/control/study/trial_record.h"

namespace linac::study {

/// Whether the budget's time is over: no trial begins any more.
bool time_is_over(const Ledger& ledger, double now_s);
/// Whether it is reported: a trial that goes on measures epochs again that it had reported before it was lost.
bool is_news(const tune::Trial& trial, const Measured& measured);

/// How the training of a trial came to its end, beside well.
enum class Mishap {
  kNumeric,  // NaN, infinity, a collapse
  kRefused,  // it cannot run with these settings, or with this job at all
  kLost      // it says nothing of the point: killed as often as is allowed, a full disk, cancelled by somebody
};
/// By its exit status.
Mishap mishap_of(int exit_status);

struct TrialEnd {
  tune::State state = tune::State::kComplete;
  std::vector<double> values{};
  std::string reason{};
};

/// The end of a training that ended well. `values`: of the epoch that counts, for several objectives
/// (TrialRecord::values_of_epoch()).
TrialEnd end_well(const Ledger& ledger, int64_t trial, std::vector<double> values);
/// The end of one that did not, and was not pruned. Nothing: before any trial has come to its end this is the job's
/// fault and not the point's, and the study ends with it.
std::optional<TrialEnd> end_badly(const Ledger& ledger, Mishap mishap, const std::string& why);

}  // namespace linac::study
