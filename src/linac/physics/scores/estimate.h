#pragma once
// A number that was computed from events, with its uncertainty: the spread of the same number over bootstrap replicas
// of the events (Efron 1979). Replicas are weights of the events (base/base/bootstrap.h), so every number has one
// definition, a function of weights. Pure, thread-safe.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace linac::scores {

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();  // standard deviation of the replicas; NaN without them
  double low = std::numeric_limits<double>::quiet_NaN();    // the central 68.27 % of the replicas
  double high = std::numeric_limits<double>::quiet_NaN();
  /// In place of the error, where that has no meaning: with 95 % the value is larger than this. Else NaN.
  double above = std::numeric_limits<double>::quiet_NaN();
};

/// A named estimate of all events, or of one class or output.
struct Score {
  std::string name;  // "auc"
  int part = -1;     // the class or the output; -1: of all
  Estimate estimate;
};

/// nullptr if there is none.
const Estimate* find(std::span<const Score> scores, const std::string& name, int part = -1);

/// How much each event counts.
using Weights = std::span<const double>;

struct BootstrapOptions {
  int replicas = 200;  // 0: values without uncertainties
  uint64_t seed = 1;
  int threads = 1;
  std::vector<double> event_weights{};  // of each event, in every replica too; may be below zero; empty: 1
  /// Where several rows are steps of one event, which they are drawn with: the event of each; empty: each is one.
  std::vector<uint32_t> event_of_row{};
};

/// What each of the events counts on the whole.
std::vector<double> event_weights(size_t events, const BootstrapOptions& options);
/// How many events of weight 1 know a share as well as these do: (sum of w)^2 / sum of w^2 (Kish 1965).
double effective_events(Weights weights);
int64_t below_zero(Weights weights);
/// User error if the weights do not add up to more than 0.
void need_weight(Weights weights);

/// Several numbers of the events under weights; called from several threads at once.
using Evaluate = std::function<std::vector<double>(Weights)>;

/// Of every number that `evaluate` gives. Replicas where it is NaN (no event of a class was drawn) do not count; the
/// error is NaN where a replica is infinite.
std::vector<Estimate> bootstrap(size_t events, const BootstrapOptions& options, const Evaluate& evaluate);

/// The same for one or two models on the same events; with two the difference, first minus second, comes third.
std::vector<std::vector<Estimate>> bootstrap_with_difference(size_t events, const BootstrapOptions& options,
                                                             const std::vector<Evaluate>& models);

std::vector<Score> named(const std::vector<std::pair<std::string, int>>& names, const std::vector<Estimate>& estimates);

}  // namespace linac::scores
