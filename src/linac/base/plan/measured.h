#pragma once
// What was measured of a job on one host before it is planned for others: by a short training (`linac plan`), or by a
// run. A file of JSON, so that what was measured at a site can be brought here. Values; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/scaling.h"

namespace linac::plan {

struct Measured {
  std::string job;      // its name
  std::string work;     // a digest of what a replica computes (the job without what changes no step's cost)
  std::string host;     // name, and what its processor is
  std::string machine;  // of the price book; empty: it is not known which
  std::string when;     // UTC
  std::string device;   // "cpu", "cuda"
  double cores = 1;     // that a worker could use
  int threads = 1;      // of a replica
  int replicas = 1;     // of the worker that was measured, all side by side
  double flop = 0;      // of a step of one replica, about; 0: not known

  std::vector<double> start_s;               // of each start, from the command to the first step's begin
  std::optional<double> start_of_several_s;  // likewise of two workers, which have to meet
  std::vector<double> step_s;                // by the clock, without those that follow a start
  double step_cpu_s = 0;                     // of one step, all its threads
  double waited = 0;                         // for a processor, as a part of the time: other work ran beside it
  std::optional<double> between_s;  // from an epoch's last step to the next one's first: test, checkpoint, pictures
  std::optional<double> end_s;      // from the last step to the end of the process
  double checkpoint_s = 0;          // in which a checkpoint halts the training
  double memory_gib = 0;            // of the worker, the most
  std::optional<double> watts;      // of the host's processors and GPUs meanwhile, where all tell (base/energy)

  std::vector<Update> updates;  // of a step

  int64_t steps = 0, epochs = 0;  // of the whole training
  int replicas_of_job = 1;
  bool tests = false;

  double mean_step_s() const;
  /// Standard deviation of a step over their mean.
  double jitter() const;
  /// How much longer the last third of the steps took than the first, at the median; 1 for less than twelve.
  double growth() const;
};

std::string to_text(const Measured& measured);
/// User error naming `where` and the member.
Measured read_measured(const std::string& text, const std::string& where);

}  // namespace linac::plan
