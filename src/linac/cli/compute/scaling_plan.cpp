#include "linac/cli/compute/scaling_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/cores.h"
#include "linac/base/job/job.h"
#include "linac/base/plan/work.h"
#include "linac/cli/compute/job_file.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/train/record/outline.h"

namespace linac::cli {
namespace {

trained::CompiledJob with_replicas(const std::string& file, std::vector<std::string> overrides, int replicas) {
  overrides.insert(overrides.end(), {fmt::format("train.replicas={}", replicas), "workers=1"});
  return whole_job(file, overrides);
}

trained::CompiledJob job_of_a_host(const std::string& file, std::vector<std::string> overrides, int replicas) {
  overrides.insert(overrides.end(), {"data.test=[]", "data.validation_split=0", "checkpoint.best_by=loss"});
  return with_replicas(file, std::move(overrides), replicas);
}

// As `linac train` has it of a lone worker.
int replicas_at_once(const job::Job& job) {
  const int cores = usable_cores();
  return std::clamp(cores / job.train.threads, 1, job.train.replicas);
}

// A job with its loop, and its state before the first step.
struct OpenJob {
  explicit OpenJob(trained::CompiledJob compiled)
      : whole(std::move(compiled)), loop(train::make_loop(whole.job, *group, 1, clock, whole.file.get())) {}
  trained::CompiledJob whole;
  std::unique_ptr<comm::Group> group = comm::make_lone_group();
  train::PhaseClock clock;
  train::Loop loop;
};

job::TrainingOutline outline_in(const OpenJob& open, int64_t steps_per_epoch) {
  const train::TrainState state = open.loop.steps->initial_state();
  return train::outline_of(open.whole.job, *open.loop.steps, state, open.whole.job.train.replicas, steps_per_epoch);
}

std::vector<plan::Update> updates_in(const OpenJob& open, const job::TrainingOutline& outline, double step_s) {
  const job::Job& job = open.whole.job;
  const int at_once = replicas_at_once(job), waves = (job.train.replicas + at_once - 1) / at_once;
  return plan::updates_of(outline, step_s, waves);
}

}  // namespace

plan::Step planned_step(const std::string& file, std::vector<std::string> overrides, int replicas, double step_s) {
  const OpenJob open(job_of_a_host(file, std::move(overrides), replicas));
  return {.compute_s = step_s, .replicas = replicas, .updates = updates_in(open, outline_in(open, 0), step_s)};
}

JobOutline outline_of(const std::string& file, const std::vector<std::string>& overrides, int replicas, double step_s) {
  const job::Job whole = whole_job(file, overrides).job;
  const OpenJob open(with_replicas(file, overrides, replicas));  // what tests it does not train
  const int64_t events = open.loop.data->train_events();
  const int64_t per_epoch = train::steps_per_epoch(whole, events);
  const job::TrainingOutline told = outline_in(open, per_epoch);
  JobOutline outline{.updates = updates_in(open, told, step_s), .flop = told.flop};
  outline.events = std::max<int64_t>(0, events);
  outline.steps = per_epoch * whole.train.epochs;
  if (whole.train.max_steps > 0) outline.steps = std::min<int64_t>(outline.steps, whole.train.max_steps);
  outline.epochs = (outline.steps + per_epoch - 1) / per_epoch;
  return outline;
}

int computing_cores(const std::string& file, std::vector<std::string> overrides, int replicas) {
  const job::Job job = job_of_a_host(file, std::move(overrides), replicas).job;
  return job.train.device == "cpu" ? replicas_at_once(job) * job.train.threads : 0;
}

}  // namespace linac::cli
