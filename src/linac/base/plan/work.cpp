#include "linac/base/plan/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/base/host.h"
#include "linac/base/job/branch.h"
#include "linac/base/job/job_paths.h"

namespace linac::plan {

void need_whole_replicas(const job::Job& job) {
  if (job.train.split.parts() > 1)
    throw user_error(
        "[plan] a plan is made of replicas that one worker computes, and train.split divides them: plan the job with "
        "train.split at 1 x 1 x 1, or measure a short run with it (linac train --set train.max_steps=20)");
}

std::string work_digest(const job::Job& job) {
  job::Job work = job::without_free_settings(job);
  for (std::string* file : job::files_of(work)) *file = std::filesystem::path(*file).filename().string();
  work.train.replicas = 1;
  work.train.seed = 0;
  work.train.optimizer.lr = 1;
  return fmt::format("{:016x}", fnv1a_64(job::to_yaml(work)));
}

std::string kin_digest(const job::Job& job) {
  job::Job kin = job;
  kin.train.batch = 1;
  return work_digest(kin);
}

const std::string& this_host() {
  static const std::string host = fmt::format("{}, {}", host_name(), processor_name());
  return host;
}

bool is_host(const std::string& measured, const std::string& told) {
  return measured == told || measured.starts_with(told + ", ");
}

double step_cpu_s(const job::WorkerAccount& account) {
  if (!account.steps || account.steps->steps == 0) return 0;
  double seconds = 0;
  for (const job::Phase phase : job::kStepPhases) seconds += account.time_in(phase).cpu_s;
  return seconds / static_cast<double>(account.steps->steps);
}

std::vector<Update> updates_of(const job::TrainingOutline& outline, double step_s, int waves) {
  std::vector<Update> updates;
  for (const job::OutlinedUpdate& told : outline.updates) {
    Update& update = updates.emplace_back();
    update.beside_s = told.beside * step_s;
    update.every = std::max(1.0, told.every);
    for (const job::OutlinedPart& part : told.parts) update.buckets.push_back({part.bytes, part.left * step_s / waves});
  }
  return updates;
}

void fit_to(const job::Job& job, int64_t batch, Measured& measured) {
  constexpr int64_t kMost = 1'000'000'000;  // so that no product is too large
  int64_t per_epoch = std::clamp<int64_t>(measured.steps / std::max<int64_t>(1, measured.epochs), 1, kMost);
  const int replicas = std::max(1, job.train.replicas);
  const double events = static_cast<double>(batch) * measured.replicas_of_job,
               wanted = static_cast<double>(std::max<int64_t>(1, job.train.batch)) * replicas;
  if (events != wanted) {
    const double count = static_cast<double>(per_epoch) * events / wanted;
    per_epoch = static_cast<int64_t>(std::clamp(count, 1.0, static_cast<double>(kMost)));
    if (job.train.steps_per_epoch > 0) per_epoch = std::min<int64_t>(per_epoch, job.train.steps_per_epoch);
  }
  measured.replicas_of_job = replicas;
  measured.steps = per_epoch * std::clamp<int64_t>(job.train.epochs, 1, kMost);
  if (job.train.max_steps > 0) measured.steps = std::min<int64_t>(measured.steps, job.train.max_steps);
  measured.epochs = (measured.steps + per_epoch - 1) / per_epoch;
}

}  // namespace linac::plan
