#pragma once
// A training in rounds whose network is a few weights: its settings by a seed, a worker's steps, the real LocalSteps
// around them, and what one worker alone makes of it. Used by one thread.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "linac/base/base/crc32c.h"
#include "linac/train/train/local/local_steps.h"

namespace linac::train {

inline constexpr int64_t kEpochSteps = 5, kEpochs = 3;
inline constexpr size_t kWeights = 5;

inline uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;  // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}
/// What tells the events of a replica's part of a step from others: their sum is exact in floats.
inline float events_of(int64_t epoch, int64_t step, int replica) {
  return static_cast<float>(1 + mixed(static_cast<uint64_t>((epoch * 1000 + step) * 1000 + replica)) % 1000);
}

struct RoundsSetup {
  job::Job job;
  bool changes_at_once = true;  // else a step has two updates, and may end between them
};

/// The settings of a seed: all rules of a round take their turns.
inline RoundsSetup setup_of(uint64_t seed) {
  RoundsSetup setup;
  setup.changes_at_once = seed % 2 == 0;
  job::Train& train = setup.job.train;
  const std::pair<int, int> sizes[] = {{4, 4}, {6, 3}, {4, 2}, {3, 3}};
  std::tie(train.replicas, train.sync.groups) = sizes[seed % 4];
  train.epochs = kEpochs;
  train.optimizer.name = "adam";
  train.sync.mode = "local";
  train.sync.every = 2 + static_cast<int64_t>(seed / 4 % 2);
  train.sync.begin = seed / 8 % 3 == 0 ? 3 : 0;
  switch (seed / 4 % 10) {
    case 0:
      break;
    case 1:
      train.sync.exchange = "int8";
      break;
    case 2:
      train.sync.mode = "easgd";
      break;
    case 3:
      train.sync.exchange = "int8";
      train.sync.moments = "reset";
      break;
    case 4:
      train.sync.moments = "average";
      break;
    case 5:
      train.sync.copies = false;
      break;
    case 6:
      train.sync.mode = "downpour";
      train.sync.push = 0.5;
      break;
    case 7:
      train.sync.mode = "gem";
      train.sync.exchange = "int8";
      break;
    case 8:
      train.sync.mode = "eamsgd";
      train.sync.moments = "reset";
      train.sync.exchange = "bf16";
      break;
    default:
      train.sync.mode = "hybrid";
      train.sync.moments = "average";
      train.sync.schedule.delays = 4;
  }
  return setup;
}

inline uint32_t digest_of(std::span<const float> values, uint32_t before = 0) {
  const uint32_t both[] = {before, crc32c(std::as_bytes(values))};
  return crc32c(std::as_bytes(std::span(both)));
}
inline uint32_t digest_of(const TrainState& state) {
  uint32_t digest = 0;
  for (const auto& values : values_of(state.networks)) digest = digest_of(values, digest);
  for (const auto& [name, values] : state.exchange.shared)
    if (!name.starts_with("group/")) digest = digest_of(values, digest);
  return digest;
}

/// A worker's steps: each replica pulls the weights to where its events lie. Knows where its input stands.
class ToySteps : public LoopSteps {
 public:
  ToySteps(const RoundsSetup& setup, Islands& islands, std::function<void(const std::string&)> violate)
      : setup_(setup), islands_(islands), violate_(std::move(violate)) {}

  std::vector<const graph::Graph*> graphs() const override { return {}; }
  TrainState initial_state() const override {
    TrainState state;
    graph::Parameters parameters;
    parameters.trainable_layout.add("a", {static_cast<int64_t>(kWeights)});
    parameters.statistics_layout.add("mean", {1});
    parameters.trainable.assign(static_cast<size_t>(parameters.trainable_layout.total), 0.5F);
    parameters.statistics.assign(static_cast<size_t>(parameters.statistics_layout.total), 0.0F);
    const size_t weights = parameters.trainable.size();
    state.networks.push_back(
        {"model", std::move(parameters), optimizer::Optimizer(setup_.job.train.optimizer, weights), {}, {}});
    return state;
  }
  void seek(const TrainState& state) override {
    at_ = {state.epoch, state.step};
    owned_ = islands_.scope().owned;
  }
  bool changes_at_once() const override { return setup_.changes_at_once; }

  StepResult step(TrainState& state, double learning_rate, StepWish, const Arrive& arrive) override {
    ReplicaScope& scope = islands_.scope();
    if (at_ != std::pair(state.epoch, state.step) || owned_ != scope.owned)
      violate_(fmt::format("a step of epoch {}, step {} reads other events", state.epoch, state.step));
    at_ = {-1, -1};
    Network& network = state.networks[0];
    if (islands_.is_one_selected() && !scope.owned.empty()) note_begin(state, scope.owned.front());
    StepResult result;
    for (int update = setup_.changes_at_once ? 1 : 0; update < 2; ++update) {
      const std::vector<float> total = summed(state, scope, update);
      if (setup_.changes_at_once) arrive();
      const float islands = islands_.is_one_selected() ? static_cast<float>(islands_.count()) : 1;
      AlignedFloats gradient(network.parameters.trainable.size());
      for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = islands * total[i];
      network.optimizer.step(network.parameters.trainable, gradient, learning_rate);
      network.parameters.statistics[0] = islands * total[0];
      result.losses = {{"events", total[gradient.size()]}, {"which", total[gradient.size() + 1]}};
    }
    at_ =
        state.step + 1 < kEpochSteps ? std::pair(state.epoch, state.step + 1) : std::pair(state.epoch + 1, int64_t{0});
    return result;
  }
  std::vector<UpdateOutline> updates(const TrainState&, int) const override { return {}; }
  TestResult test(const TrainState&, Figures) override { return {}; }

  /// What each island began its round with, its own optimizer and weights, and behind which step.
  struct Begin {
    int64_t behind = 0;
    uint32_t digest = 0;
  };
  std::map<int, Begin> began;
  int64_t round_begin = 0;  // the steps of all

 private:
  void note_begin(const TrainState& state, int replica) {
    if (state.global_step != round_begin) return;
    const Network& network = state.networks[0];
    uint32_t digest = digest_of(network.parameters.trainable, static_cast<uint32_t>(network.optimizer.updates()));
    for (const auto& slot : network.optimizer.slots()) digest = digest_of(slot.values, digest);
    began[replica / (setup_.job.train.replicas / setup_.job.train.sync.groups)] = {round_begin, digest};
  }

  std::vector<float> summed(const TrainState& state, ReplicaScope& scope, int update) const {
    const auto& weights = state.networks[0].parameters.trainable;
    std::vector<AlignedFloats> each;
    for (const int replica : scope.owned) {
      AlignedFloats& one = each.emplace_back(weights.size() + 2);
      const auto events = static_cast<uint64_t>(events_of(state.epoch, state.step, replica));
      for (size_t i = 0; i < weights.size(); ++i) {
        const float lies = static_cast<float>(mixed(events * 100 + i * 2 + static_cast<uint64_t>(update)) % 1000) / 500;
        one[i] = (weights[i] - lies) / static_cast<float>(setup_.job.train.replicas);
      }
      one[weights.size()] = 1;
      one[weights.size() + 1] = static_cast<float>(events);
    }
    const std::vector<std::span<float>> spans(each.begin(), each.end());
    std::vector<float> total(weights.size() + 2);
    scope.sum.reduce(spans, total);
    return total;
  }

  const RoundsSetup& setup_;
  Islands& islands_;
  const std::function<void(const std::string&)> violate_;
  std::pair<int64_t, int64_t> at_{-1, -1};  // where the input stands; nowhere while a step is under way
  std::vector<int> owned_;                  // whose
};

inline double rate_of(const TrainState& state) {
  return 0.05 / (1.0 + 0.01 * static_cast<double>(state.global_step));
}

/// All that a worker has in memory for its steps.
struct ToyWorker {
  ToyWorker(const RoundsSetup& setup, comm::Group& group, const std::function<void(const std::string&)>& violate)
      : islands(std::make_shared<Islands>(setup.job, group)),
        toy(std::make_shared<ToySteps>(setup, *islands, violate)),
        steps(setup.job, group, toy, islands, kEpochSteps, rate_of, clock) {}

  PhaseClock clock;
  std::shared_ptr<Islands> islands;
  std::shared_ptr<ToySteps> toy;
  LocalSteps steps;
};

/// A round that counts, or an exact step.
struct Counted {
  int64_t view = 0, begin = 0;      // begin: the steps of the training where it began
  uint32_t digest = 0;              // of the state of all behind it
  std::vector<int64_t> anew = {};   // islands that began anew in it, as it says
  std::map<int, uint32_t> began{};  // what islands began with, of those that somebody told of
};
/// By the steps of the training behind it.
using Chain = std::map<int64_t, Counted>;

/// What one worker makes of the job, of whose islands some begin anew where the chain says so.
inline Chain replay(const RoundsSetup& setup, const Chain& played) {
  std::map<int64_t, std::vector<int64_t>> anew;
  for (const auto& [steps, counted] : played) anew[counted.begin] = counted.anew;
  const auto group = comm::make_lone_group();
  const auto make = [&] { return std::make_unique<ToyWorker>(setup, *group, [](const std::string&) {}); };
  auto worker = make();
  TrainState state = worker->steps.initial_state();
  worker->steps.seek(state);
  Chain chain;
  while (state.epoch < kEpochs) {
    if (const auto& lost = anew[state.global_step]; !lost.empty()) {
      worker->steps.complete(state);
      for (const int64_t island : lost) {
        const std::string prefix = fmt::format("group/{}/", island);
        std::erase_if(state.exchange.shared, [&](const auto& one) { return one.first.starts_with(prefix); });
        state.exchange.shared[prefix] = {};
      }
      worker = make();
      worker->steps.seek(state);
    }
    Counted counted{.begin = state.global_step};
    worker->toy->round_begin = state.global_step;
    const StepResult result = worker->steps.step(state, rate_of(state), StepWish::kNone, [] {});
    const int64_t steps = result.each.empty() ? 1 : static_cast<int64_t>(result.each.size());
    state.step += steps;
    state.global_step += steps;
    counted.digest = digest_of(state);
    for (const auto& [island, one] : std::exchange(worker->toy->began, {})) counted.began[island] = one.digest;
    chain[state.global_step] = counted;
    if (state.step < kEpochSteps) continue;
    ++state.epoch;
    state.step = 0;
  }
  return chain;
}

}  // namespace linac::train
