#pragma once
// What makes measurements comparable: the same work, on the same host. Thread-safe.

#include <string>

#include "linac/base/job/job.h"
#include "linac/base/job/run_record.h"
#include "linac/base/plan/measured.h"

namespace linac::plan {

/// User error for a job whose replicas are divided (train.split): nothing has been learned of what these take.
void need_whole_replicas(const job::Job& job);

/// What a replica's step is made of: two jobs with the same digest take the same time a step on the same host.
std::string work_digest(const job::Job& job);
/// The same whatever its batch.
std::string kin_digest(const job::Job& job);

/// "gpu03, Intel(R) Xeon(R) ...": a host and what its processor is.
const std::string& this_host();
/// Whether a measurement of `measured` is of the host `told`, of which no more than its name may be known.
bool is_host(const std::string& measured, const std::string& told);

/// CPU seconds of a step of the worker, all its threads; 0 if it does not tell.
double step_cpu_s(const job::WorkerAccount& account);

/// The messages of a step that takes `step_s`, in which each worker computes `waves` times as many replicas as side by
/// side.
std::vector<Update> updates_of(const job::TrainingOutline& outline, double step_s, int waves = 1);

/// The steps and epochs of `job` in place of those of the training that was measured, which did the same work at a
/// batch of `batch` events. How many steps an epoch has goes by batch and number of replicas, to one step.
void fit_to(const job::Job& job, int64_t batch, Measured& measured);

}  // namespace linac::plan
