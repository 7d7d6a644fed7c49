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

/// What else is of a replica's batch, where it is another one.
struct AtBatch {
  int64_t batch = 0;
  double wave_s = 0, fixed_s = 0, step_cpu_s = 0, memory_gib = 0;
};

struct Measured {
  std::string job;                 // its name
  std::string work;                // a digest of what a replica computes (the job without what changes no step's cost)
  std::string kin;                 // the same of work of any batch
  std::string host;                // name, and what its processor is
  std::string machine;             // of the price book; empty: it is not known which
  std::string when;                // UTC
  std::string device;              // "cpu", "cuda"
  double cores = 1;                // that a worker could use; a quota is a number with a fraction
  int threads = 1;                 // of a replica
  int replicas = 1;                // of the worker that was measured, all side by side
  std::string precision = "fp32";  // train.precision of the job
  int64_t batch = 1;               // events of a replica's step
  int64_t events = 0;              // of an epoch, that train; 0: not known
  double flop = 0;                 // of a step of one replica, about; 0: not known

  std::vector<double> start_s;               // from the command to the first step; the first start packs the data
  std::optional<double> start_of_several_s;  // of two workers of the host, which have to meet
  std::optional<double> pair_s;              // a step of these two, each with a replica
  double pair_cpu_s = 0;                     // of both, a step
  double wave_s = 0;                         // of a step: its replicas are computed, all side by side
  double fixed_s = 0;                        // beside it, whatever their number: input, update, the record
  double scatter = 0;                        // standard deviation of a step, over the mean
  double first_s = 0;                        // that the first steps take beyond as many later ones: data come from afar
  double growth = 1;                         // how much longer the last steps took than the first, at the median
  int64_t steps_seen = 0;                    // of which these are
  double step_cpu_s = 0;                     // of one step, all its threads
  double taken = 0;                          // of its processors' time by other work, from 0 to 1
  std::optional<double> test_s;              // of one test, which its replicas share; 0 where the job has none
  std::optional<double> between_s;           // beside it, from an epoch's last step to the next one's first
  std::optional<double> end_s;               // beside the last test, from the last step to the end of the process
  double checkpoint_s = 0;                   // in which a checkpoint halts the training
  double memory_gib = 0;                     // of the worker, the most
  std::optional<double> watts;  // of the host's processors and GPUs meanwhile, where all tell (base/energy)

  std::vector<Update> updates;      // of a step
  std::vector<AtBatch> at_batches;  // the same work at other batches (batch_law.h)

  int64_t steps = 0, epochs = 0;  // of the whole training
  int replicas_of_job = 1;
  bool tests = false;

  double doubt = 0;  // spread of the logarithm of a wave that was not measured, but follows; in no file

  double step_s() const { return wave_s + fixed_s; }
};

std::string to_text(const Measured& measured);
/// User error naming `where` and the member.
Measured read_measured(const std::string& text, const std::string& where);

}  // namespace linac::plan
