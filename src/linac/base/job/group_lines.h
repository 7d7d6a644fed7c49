#pragma once
// Lines of metrics.jsonl that speak of workers and groups of them (run_record.h).

#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/job/record_fields.h"

namespace linac::job {

/// A worker in a view.
struct ViewMember {
  static constexpr const char* kName = "ViewMember";
  int64_t rank = 0, pid = 0, replicas = 0;
  std::string host;

  template <class V>
  static void fields(V&& v) {
    v({"rank", "", "in this view"}, &ViewMember::rank);
    v({"host", "", "empty for a worker that trains alone", Need::kNeeded}, &ViewMember::host);
    v({"pid", "", "process on the host", Need::kNeeded}, &ViewMember::pid);
    v({"replicas", "", "that it carries", Need::kNeeded}, &ViewMember::replicas);
  }
};

/// A round of groups that train apart (train.sync.mode) that counts: the groups have come together.
struct RoundLine {
  static constexpr const char* kKind = "round";
  int64_t epoch = -1, global_step = -1, round = -1, steps = 0;
  double drift = 0, way = 0, wait_s = 0, exchange_s = 0;
  int64_t bytes = 0;
  std::vector<int64_t> anew;
  double staleness = 0;
  int64_t staleness_max = 0;

  template <class V>
  static void fields(V&& v) {
    v({"epoch", "", "from 0"}, &RoundLine::epoch);
    v({"global_step", "", "steps of the training that are done, those of the round included", Need::kNeeded},
      &RoundLine::global_step);
    v({"round", "", "rounds that are done, this one included"}, &RoundLine::round);
    v({"steps", "", "of the round"}, &RoundLine::steps);
    v({"drift", "",
       "root of the mean square by which the groups' ways differ from their mean, in lengths of that mean"},
      &RoundLine::drift);
    v({"way", "", "length of the mean of the groups' ways, over all weights"}, &RoundLine::way);
    v({"wait_s", "s", "in which the worker that writes the record waited for the last group"}, &RoundLine::wait_s);
    v({"exchange_s", "s", "in which it came together with the others"}, &RoundLine::exchange_s);
    v({"bytes", "", "that it sent to other groups"}, &RoundLine::bytes);
    v({"anew", "",
       "groups, from 0, that began it with moments of nothing, as all were lost who had what they kept; empty in a run "
       "with the bits of a calm one"},
      &RoundLine::anew);
    v({"staleness", "",
       "of groups that take turns: turns of others since a group's last one, the mean over the groups, and over layers "
       "where these have turns of their own"},
      &RoundLine::staleness);
    v({"staleness_max", "", "likewise, the most"}, &RoundLine::staleness_max);
  }
};

/// Workers of which an audit (train.audit) has found that they compute wrongly.
struct AuditLine {
  static constexpr const char* kKind = "audit";
  double time = 0;
  int64_t global_step = -1, clean_step = -1;
  std::vector<ViewMember> wrong, suspects;
  std::string what;

  template <class V>
  static void fields(V&& v) {
    v({"time", "s since 1970", "when it was found", Need::kNeeded}, &AuditLine::time);
    v({"global_step", "", "steps that were done by then; the one behind them was audited", Need::kNeeded},
      &AuditLine::global_step);
    v({"clean_step", "",
       "steps that were done when an audit last found all workers right; -1: no audit since the start"},
      &AuditLine::clean_step);
    v({"wrong", "", "workers that compute wrongly: the run went on without them"}, &AuditLine::wrong);
    v({"suspects", "", "workers of which at least one computes wrongly, and nobody can tell which: the run ended"},
      &AuditLine::suspects);
    v({"what", "", "which replica, and where its results begin to differ"}, &AuditLine::what);
  }
};

}  // namespace linac::job
