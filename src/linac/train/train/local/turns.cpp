#include "linac/train/train/local/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/model/graph/constraints.h"

namespace linac::train {
namespace {

constexpr const char* kPrefix = "turn/";
constexpr float kEpsilon = 1e-8F;  // of gem's division
constexpr float kLongest = 5;      // times its way, at most, that a group goes with gem

std::string name_of(const char* what, int group, const std::string& network) {
  return fmt::format("{}{}/{}/{}", kPrefix, group, what, network);
}

// A group's turn comes before that of another one that is so many numbers below it, at most: with its delay it is due
// at its number and a part of `delays`, and they go by when they are due.
int64_t places_moved(const job::Sync& sync) {
  const auto most = static_cast<int64_t>(std::max(0.0, std::ceil(sync.schedule.delays) - 1));
  return sync.max_staleness == 0 ? most : std::min(most, (sync.max_staleness - (sync.groups - 1)) / 2);
}

// What a group's turn is made of, in a part of a network: of all, what it goes on from, and its way.
struct Turn {
  const job::Sync& sync;
  std::span<float> all, own;
  std::span<const float> way;
  std::span<float> mean;  // of gem: of the group's ways
};

void push(const Turn& turn) {
  const auto part = static_cast<float>(turn.sync.push);
  for (size_t i = 0; i < turn.all.size(); ++i) {
    turn.all[i] -= part * turn.way[i];
    turn.own[i] = turn.all[i];
  }
}

void pull_each_other(const Turn& turn) {
  const auto alpha = static_cast<float>(turn.sync.beta / turn.sync.groups);
  for (size_t i = 0; i < turn.all.size(); ++i) {
    const float reached = turn.own[i] - turn.way[i], pull = alpha * (reached - turn.all[i]);
    turn.own[i] = reached - pull;
    turn.all[i] += pull;
  }
}

void match_energy(const Turn& turn) {
  const auto kappa = static_cast<float>(turn.sync.gem.kappa), kept = static_cast<float>(turn.sync.gem.momentum);
  for (size_t i = 0; i < turn.all.size(); ++i) {
    const float step = -turn.way[i], others = turn.all[i] - turn.own[i];
    turn.mean[i] = kept * turn.mean[i] + step;
    const float wanted = (kappa * std::fabs(turn.mean[i]) - std::fabs(others)) / std::fabs(step + kEpsilon);
    turn.own[i] = turn.all[i];
    turn.all[i] += std::clamp(wanted, 0.0F, kLongest) * step;
  }
}

struct TurnRule {
  const char* mode;
  void (*take)(const Turn& turn);
};
constexpr TurnRule kRules[] = {
    {"downpour", push}, {"eamsgd", pull_each_other}, {"gem", match_energy}, {"hybrid", push}};

auto rule_of(const job::Sync& sync) {
  const auto* const row = std::ranges::find_if(kRules, [&](const TurnRule& one) { return sync.mode == one.mode; });
  LINAC_CHECK(row != std::end(kRules));
  return row->take;
}

std::vector<int64_t> places_in(const std::vector<int>& order) {
  std::vector<int64_t> places(order.size());
  for (size_t i = 0; i < order.size(); ++i) places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return places;
}

}  // namespace

std::vector<int> order_of_turns(const job::Train& train, int64_t round, int64_t layer) {
  const job::Sync& sync = train.sync;
  std::vector<int> order(static_cast<size_t>(sync.groups));
  std::iota(order.begin(), order.end(), 0);
  std::vector<float> due(order.size());
  fill_uniform({.seed = train.seed,
                .stream = Stream::kTurns,
                .lane = static_cast<uint32_t>(sync.schedule.seed),
                .epoch = static_cast<uint32_t>(round >> 32),
                .step = static_cast<uint32_t>(round),
                .replica = static_cast<uint32_t>(layer)},
               due);
  const double delays = std::min(sync.schedule.delays, static_cast<double>(places_moved(sync) + 1));
  for (size_t i = 0; i < due.size(); ++i) due[i] = static_cast<float>(i) + static_cast<float>(delays) * due[i];
  std::ranges::stable_sort(order, {}, [&](int group) { return due[static_cast<size_t>(group)]; });
  return order;
}

std::vector<TurnPart> parts_of_turns(const job::Sync& sync, const graph::Layout& layout) {
  const auto end = static_cast<size_t>(layout.total);
  if (sync.mode != "hybrid") return {{0, end}};
  std::vector<TurnPart> parts;
  std::string layer;
  for (const graph::Slot& slot : layout.slots) {
    const std::string its = slot.name.substr(0, slot.name.rfind('/'));
    if (!parts.empty() && its == layer) continue;
    const auto begin = static_cast<size_t>(slot.offset);
    if (!parts.empty()) parts.back().end = begin;
    parts.push_back({begin, end});
    layer = its;
  }
  return parts;
}

Staleness staleness_of(const job::Train& train, int64_t round, const std::vector<Network>& networks) {
  Staleness staleness;
  const auto groups = static_cast<int64_t>(train.sync.groups);
  double sum = 0;
  int64_t turns = 0;
  for (const Network& network : networks) {
    const auto layers = std::ssize(parts_of_turns(train.sync, network.parameters.trainable_layout));
    for (int64_t layer = 0; layer < layers; ++layer) {
      const std::vector<int64_t> now = places_in(order_of_turns(train, round, layer));
      const std::vector<int64_t> before =  // all begin with the same weights
          round == 0 ? std::vector(now.size(), groups - 1) : places_in(order_of_turns(train, round - 1, layer));
      for (size_t group = 0; group < now.size(); ++group) {
        const int64_t others = groups - 1 - before[group] + now[group];
        sum += static_cast<double>(others);
        staleness.max = std::max(staleness.max, others);
        ++turns;
      }
    }
  }
  staleness.mean = turns == 0 ? 0 : sum / static_cast<double>(turns);
  return staleness;
}

std::span<const float> weights_of_group(const TrainState& state, int group, const Network& network) {
  const auto found = state.exchange.shared.find(name_of("weights", group, network.name));
  const AlignedFloats& all = network.parameters.trainable;
  if (found == state.exchange.shared.end() || found->second.size() != all.size()) return all;
  return found->second;
}

void take_turns(const job::Train& train, int64_t round, Network& network, const std::vector<AlignedFloats>& ways,
                ExchangeState::Values& shared) {
  const job::Sync& sync = train.sync;
  const auto rule = rule_of(sync);
  AlignedFloats& all = network.parameters.trainable;
  std::vector<std::span<float>> own, means(ways.size());
  for (int group = 0; group < sync.groups; ++group) {
    std::vector<float>& weights = shared[name_of("weights", group, network.name)];
    if (weights.size() != all.size()) weights.assign(all.begin(), all.end());
    own.emplace_back(weights);
    if (sync.mode != "gem") continue;
    std::vector<float>& mean = shared[name_of("mean", group, network.name)];
    mean.resize(all.size());
    means[static_cast<size_t>(group)] = mean;
  }
  int64_t layer = 0;
  for (const TurnPart& part : parts_of_turns(sync, network.parameters.trainable_layout)) {
    const size_t size = part.end - part.begin;
    for (const int group : order_of_turns(train, round, layer++)) {
      const auto at = static_cast<size_t>(group);
      rule({.sync = sync,
            .all = std::span(all).subspan(part.begin, size),
            .own = own[at].subspan(part.begin, size),
            .way = std::span(ways[at]).subspan(part.begin, size),
            .mean = means[at].empty() ? means[at] : means[at].subspan(part.begin, size)});
    }
  }
  for (const std::span<float> weights : own) graph::enforce(network.constraints, weights);
  graph::enforce(network.constraints, all);
}

}  // namespace linac::train
