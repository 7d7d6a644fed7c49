#pragma once
// How fast a job's training events have to come from where they lie, and how fast they do. One thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/io/storage/link_probe.h"
#include "linac/train/train/loops/loop_data.h"

namespace linac::cli {

struct DataLinks {
  struct Place {
    storage::LinkRate link;
    double bytes = 0;         // of the training files there, as far as they are read
    double needed_per_s = 0;  // bytes; of all places in proportion to theirs
    bool is_too_slow() const { return link.is_measured() && link.bytes_per_s() < needed_per_s; }
  };
  double bytes = 0, event_bytes = 0;  // as stored, of what is read: the set, and an event of it
  double step_s = 0;                  // computing, without the wait for its events
  int64_t step_events = 0;            // of all replicas, which are computed side by side
  double needed_per_s = 0;            // bytes
  bool as_it_goes = false;            // files come while the training goes on; else all before the first step
  bool in_each_epoch = false;         // as the cache cannot hold them
  bool shared = false;                // among all hosts of the training; else each wants as much
  std::vector<Place> places;

  /// What a replica computes in a step says what is needed.
  void set_step(double seconds);
};

/// Reads from each place of other hosts for a few seconds at most (io/storage/link_probe.h); nothing of this host.
/// Before the loop's first seek(): from there on it may read ahead over the same links. Throws nothing because of a
/// link. What is needed is not known before set_step().
DataLinks measure_links(const job::Job& job, const train::LoopData& data);

/// For people; a line each.
std::vector<std::string> describe(const DataLinks& links);
/// One for each place that gives less than is needed: both numbers, and what helps.
std::vector<std::string> warnings(const DataLinks& links);
nlohmann::ordered_json to_json(const DataLinks& links);

}  // namespace linac::cli
