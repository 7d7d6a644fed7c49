#include "linac/cli/compute/scaling_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "linac/cli/compute/job_file.h"
#include "linac/comm/group.h"
#include "linac/graph/graph.h"
#include "linac/spec/job.h"
#include "linac/train/loop.h"
#include "linac/train/exchange/buckets.h"

namespace linac::cli {
namespace {

// Which of the state's networks the updates of a step are about.
std::vector<size_t> updated_networks(const spec::Job& job, size_t networks) {
  if (job.model.kind == "3dgan") return {1, 1, 0, 0};
  std::vector<size_t> each(networks);
  std::iota(each.begin(), each.end(), size_t{0});
  return each;
}

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

// The part of the next step's first update that a step of the 3DGAN computes beside its update `i`
// (train/adversarial.h).
double looked_ahead(size_t i, int replicas) {
  const int half = replicas / 2;
  const int ahead = i == 2 ? half : i == 3 ? replicas - half : 0;
  return static_cast<double>(ahead) / replicas;
}

spec::Job job_of_a_host(const std::string& file, std::vector<std::string> overrides, int replicas) {
  overrides.insert(overrides.end(), {fmt::format("train.replicas={}", replicas), "workers=1", "data.test=[]",
                                     "checkpoint.best_by=loss"});
  return whole_job(file, overrides);
}

// As `linac train` has it of a lone worker.
int replicas_at_once(const spec::Job& job) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores / job.train.threads, 1, job.train.replicas);
}

}  // namespace

plan::Step planned_step(const std::string& file, std::vector<std::string> overrides, int replicas, double step_s) {
  const spec::Job job = job_of_a_host(file, std::move(overrides), replicas);
  const auto group = comm::make_group({}, {});
  train::PhaseClock clock;
  const auto loop = train::make_loop(job, *group, 1, clock);
  const train::TrainState state = loop->initial_state();
  const auto graphs = loop->graphs();
  const auto updates = updated_networks(job, state.networks.size());
  const int at_once = replicas_at_once(job), waves = (replicas + at_once - 1) / at_once;
  const double all_s = step_s / static_cast<double>(updates.size()), update_s = all_s / waves;
  plan::Step step{.compute_s = step_s, .replicas = replicas, .updates = {}};
  for (size_t i = 0; i < updates.size(); ++i) {
    const size_t network = updates[i];
    const graph::Parameters& parameters = state.networks[network].parameters;
    const auto tail = parameters.statistics.size() + 8;  // losses and flags
    step.updates.push_back({{}, job.model.kind == "3dgan" ? looked_ahead(i, replicas) * all_s : 0});
    for (const train::Bucket& bucket : train::make_buckets(parameters.trainable_layout, tail)) {
      const bool last = bucket.begin == static_cast<size_t>(parameters.trainable_layout.total);
      const bool ahead = job.model.kind == "3dgan" && i == 0;  // computed in the step before
      const double share = last || ahead ? 0 : left_share(*graphs[network], parameters.trainable_layout, bucket.begin);
      step.updates.back().buckets.push_back({4.0 * static_cast<double>(bucket.size), share * update_s});
    }
  }
  return step;
}

int computing_cores(const std::string& file, std::vector<std::string> overrides, int replicas) {
  const spec::Job job = job_of_a_host(file, std::move(overrides), replicas);
  return job.train.device == "cpu" ? replicas_at_once(job) * job.train.threads : 0;
}

}  // namespace linac::cli
