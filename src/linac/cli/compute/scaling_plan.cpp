#include "linac/cli/compute/scaling_plan.h"
#include "linac/base/base/cores.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/job/job.h"
#include "linac/cli/compute/job_file.h"
#include "linac/model/graph/graph.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/loops/loop.h"

namespace linac::cli {
namespace {

// A backward pass takes two thirds of an update and comes upon the layers from the last to the first, in proportion to
// their operations: what is left when the gradient from the slot at `offset` on is there.
double left_share(const graph::Graph& graph, const graph::Layout& layout, size_t offset) {
  double before = 0;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    const bool reached = std::any_of(layout.slots.begin(), layout.slots.end(), [&](const graph::Slot& slot) {
      return static_cast<size_t>(slot.offset) >= offset && slot.name.starts_with(graph.nodes[node].name + "/");
    });
    if (reached) break;
    before += graph::forward_flop(graph, static_cast<int>(node));
  }
  const double whole = graph::forward_flop(graph);
  return whole > 0 ? 2.0 / 3.0 * before / whole : 0;
}

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

std::vector<plan::Update> updates_of(const OpenJob& open, double step_s) {
  const job::Job& job = open.whole.job;
  const train::TrainState state = open.loop.steps->initial_state();
  const auto graphs = open.loop.steps->graphs();
  const auto updates = open.loop.steps->updates(state, job.train.replicas);
  const int at_once = replicas_at_once(job), waves = (job.train.replicas + at_once - 1) / at_once;
  // Each takes as long as any other.
  const double all_s = step_s / static_cast<double>(updates.size()), update_s = all_s / waves;
  std::vector<plan::Update> found;
  for (const train::UpdateOutline& update : updates) {
    const graph::Layout& layout = state.networks[update.network].parameters.trainable_layout;
    found.push_back({{}, update.beside * all_s});
    for (const auto& part : update.parts) {
      const bool in_backward_pass = update.leaves_early && part.begin < static_cast<size_t>(layout.total);
      const double share = in_backward_pass ? left_share(*graphs[update.network], layout, part.begin) : 0;
      found.back().buckets.push_back({part.bytes, share * update_s});
    }
  }
  return found;
}

}  // namespace

plan::Step planned_step(const std::string& file, std::vector<std::string> overrides, int replicas, double step_s) {
  const OpenJob open(job_of_a_host(file, std::move(overrides), replicas));
  return {.compute_s = step_s, .replicas = replicas, .updates = updates_of(open, step_s)};
}

JobOutline outline_of(const std::string& file, const std::vector<std::string>& overrides, int replicas, double step_s) {
  const job::Job whole = whole_job(file, overrides).job;
  const OpenJob open(with_replicas(file, overrides, replicas));  // what tests it does not train
  JobOutline outline{.updates = updates_of(open, step_s)};
  double forward = 0;
  for (const graph::Graph* graph : open.loop.steps->graphs()) forward += graph::forward_flop(*graph);
  outline.flop = 3 * forward * static_cast<double>(outline.updates.size()) * static_cast<double>(whole.train.batch);
  const int64_t events = open.loop.data->train_events();
  outline.events = std::max<int64_t>(0, events);
  const int64_t per_epoch = train::steps_per_epoch(whole, events);
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
