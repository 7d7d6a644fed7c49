#include "linac/train/train/local/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "linac/base/base/aligned.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/model/graph/constraints.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/local/outer_step.h"
#include "linac/train/train/local/turns.h"
#include "linac/train/train/local/ways.h"

namespace linac::train {
namespace {

constexpr const char* kRounds = "rounds";
constexpr const char* kMomentum = "outer/";  // and the network's name

// What travels of an island: the ways of its networks, which may be rounded, and behind them what may not be.
struct Cut {
  size_t ways = 0, rest = 0;
};

bool averages(const job::Job& job) {
  return job.train.sync.moments == "average";
}

bool in_bytes(const job::Job& job) {
  return job.train.sync.exchange == "int8";
}

// Visits the rest of an island but its losses: float buffers.
template <class State, class Visit>
void for_each_of_rest(const job::Job& job, State& state, const Visit& visit) {
  for (auto& network : state.networks) {
    visit(network.parameters.statistics);
    if (!averages(job)) continue;
    for (auto& slot : network.optimizer.slots()) visit(slot.values);
  }
}

Cut cut_of(const job::Job& job, const TrainState& state, const std::vector<Measures>& losses) {
  Cut cut{.ways = 0, .rest = state.networks.size()};  // a square each
  for (const Network& network : state.networks) cut.ways += network.parameters.trainable.size();
  for_each_of_rest(job, state, [&](const auto& values) { cut.rest += values.size(); });
  for (const Measures& step : losses) cut.rest += step.size();
  return cut;
}

// Ways, squares of their lengths, rest, losses.
AlignedFloats packed(const job::Job& job, const TrainState& begin, int island, const IslandRound& round,
                     const Cut& cut) {
  AlignedFloats values(cut.ways + cut.rest);
  size_t at = 0, square_at = cut.ways;
  for (size_t n = 0; n < begin.networks.size(); ++n) {
    const std::span<const float> from = job.train.sync.takes_turns()
                                            ? weights_of_group(begin, island, begin.networks[n])
                                            : begin.networks[n].parameters.trainable;
    const auto& to = round.state.networks[n].parameters.trainable;
    double square = 0;
    for (size_t i = 0; i < from.size(); ++i, ++at) {
      values[at] = from[i] - to[i];
      square += static_cast<double>(values[at]) * values[at];
    }
    values[square_at++] = static_cast<float>(square);
  }
  at = square_at;
  const auto add = [&](const auto& floats) {
    std::ranges::copy(floats, values.begin() + static_cast<std::ptrdiff_t>(at));
    at += floats.size();
  };
  for_each_of_rest(job, round.state, add);
  for (const Measures& step : round.losses)
    for (const auto& [name, value] : step) values[at++] = static_cast<float>(value);
  LINAC_CHECK(at == values.size());
  return values;
}

std::vector<size_t> sizes_of(const TrainState& state) {
  std::vector<size_t> sizes;
  for (const Network& network : state.networks) sizes.push_back(network.parameters.trainable.size());
  return sizes;
}

// The weights that an island goes on from, by network.
std::vector<AlignedFloats> pulled(const job::Job& job, const TrainState& begin, const TrainState& island) {
  const auto alpha = static_cast<float>(job.train.sync.beta / job.train.sync.groups);
  std::vector<AlignedFloats> all;
  for (size_t n = 0; n < begin.networks.size(); ++n) {
    all.push_back(island.networks[n].parameters.trainable);
    elastic_step(alpha, all.back(), begin.networks[n].parameters.trainable);
    graph::enforce(begin.networks[n].constraints, all.back());
  }
  return all;
}

optimizer::Optimizer restarted(const optimizer::Optimizer& optimizer, const optimizer::Settings& settings) {
  return {settings, optimizer.slots().empty() ? 0 : optimizer.slots().front().values.size()};
}

}  // namespace

int64_t rounds_of(const TrainState& state) {
  const auto found = state.exchange.shared.find(kRounds);
  return found == state.exchange.shared.end() || found->second.empty() ? 0 : whole_number(found->second.front());
}

int64_t whole_number(float value) {
  constexpr float kMost = 1 << 24;  // beyond, not every number has a float
  return value >= 0 && value <= kMost ? static_cast<int64_t>(value) : 0;
}

size_t bytes_of_round(const job::Job& job, const Network& network) {
  const job::Sync& sync = job.train.sync;
  const size_t floats = network.parameters.trainable.size(), slots = network.optimizer.slots().size() * floats;
  size_t bytes = bytes_of_way(sync.exchange, floats);
  if (sync.takes_turns()) bytes *= static_cast<size_t>(std::max(1, sync.groups - 1));  // to each of the others
  if (averages(job)) bytes += slots * sizeof(float);
  if (sync.copies && sync.moments == "keep") bytes += slots * sizeof(float);
  if (sync.copies && in_bytes(job)) bytes += floats * sizeof(float);
  if (sync.copies && sync.is_elastic()) bytes += floats * sizeof(float);
  return bytes;
}

std::string rounds_in_words(const job::Job& job, const TrainState& state) {
  const job::Sync& sync = job.train.sync;
  size_t bytes = 0;
  for (const Network& network : state.networks) bytes += bytes_of_round(job, network);
  return fmt::format("{} of {} come together every {}, with {:.3g} MB each", plural(sync.groups, "group"),
                     plural(job.train.replicas / sync.groups, "replica"), plural(sync.every, "step"),
                     static_cast<double>(bytes) / 1e6);
}

StepResult agree_on_round(comm::Group& group, const std::map<int, IslandRound>& own, int64_t steps, StepWish wish) {
  nlohmann::json mine{{"wish", static_cast<int>(wish)},
                      {"next_view", group.wants_next_view()},
                      {"broken", nullptr},
                      {"whole", std::ranges::all_of(own, [&](const auto& one) {
                         return static_cast<int64_t>(one.second.losses.size()) == steps;
                       })}};
  for (const auto& [island, round] : own) {
    if (round.broken.health == Health::kGood || !mine["broken"].is_null()) continue;
    mine["broken"] = {{"empty", round.broken.health == Health::kEmpty},
                      {"where", fmt::format("group {}, {}", island, round.broken.where)},
                      {"words", round.broken.cause.words},
                      {"advice", round.broken.cause.advice}};
  }
  StepResult result;
  const std::string text_of_mine = mine.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const std::string& text : texts_of_all(group, text_of_mine)) {
    const auto one = nlohmann::json::parse(text);
    const auto wished = static_cast<StepWish>(one.at("wish").get<int>());
    result.stop_requested |= wished == StepWish::kStop;
    result.leaving += wished == StepWish::kLeave ? 1 : 0;
    result.save_wanted |= wished == StepWish::kSave;
    result.enough |= wished == StepWish::kEnough;
    result.next_view_wanted |= one.at("next_view").get<bool>();
    result.broken_off |= !one.at("whole").get<bool>();
    const nlohmann::json& broken = one.at("broken");
    if (broken.is_null() || result.health != Health::kGood) continue;
    result.health = broken.at("empty").get<bool>() ? Health::kEmpty : Health::kNotFinite;
    result.where = broken.at("where");
    result.cause = {.words = broken.at("words"), .advice = broken.at("advice")};
  }
  return result;
}

RoundEnd end_of_round(const job::Job& job, Islands& islands, const TrainState& begin,
                      const std::map<int, IslandRound>& rounds, const IslandStates& states) {
  const IslandRound& any = rounds.begin()->second;
  const Cut cut = cut_of(job, begin, any.losses);
  RoundEnd end{.state = begin, .kept = {}, .losses = any.losses, .told = {}};
  for (const auto& [island, round] : rounds) {
    IslandState& kept = end.kept[island];
    for (const Network& network : round.state.networks) kept.optimizers.push_back(network.optimizer);
    kept.left_out = states.of(island).left_out;
    if (job.train.sync.is_elastic()) kept.weights = pulled(job, begin, round.state);
  }

  std::map<int, AlignedFloats> told;
  for (const auto& [island, round] : rounds) told.emplace(island, packed(job, begin, island, round, cut));
  AlignedFloats total(cut.ways + cut.rest);
  const auto add_up = [&](size_t from, size_t count, comm::Exchange exchange) {
    std::vector<std::span<float>> parts;
    for (const int island : islands.led()) parts.push_back(std::span(told.at(island)).subspan(from, count));
    islands.sum(parts, std::span(total).subspan(from, count), exchange);
  };
  const job::Sync& sync = job.train.sync;
  std::vector<std::vector<AlignedFloats>> ways(sync.takes_turns() ? begin.networks.size() : 0);  // by network, island
  if (sync.takes_turns() || in_bytes(job)) {
    see_ways(sync.exchange, islands, sizes_of(begin), told, end.kept,
             [&, at = size_t{0}](int, size_t n, std::span<const float> way) mutable {
               if (n == 0) at = 0;
               for (const float value : way) total[at++] += value;
               if (sync.takes_turns()) ways[n].emplace_back(way.begin(), way.end());
             });
    add_up(cut.ways, cut.rest, comm::Exchange::kFloat);
  } else if (sync.exchange == "fp32") {
    add_up(0, total.size(), comm::Exchange::kFloat);
  } else {
    add_up(0, cut.ways, comm::Exchange::kBfloat16);
    add_up(cut.ways, cut.rest, comm::Exchange::kFloat);
  }

  const float share = 1.0F / static_cast<float>(islands.count());
  const job::OuterOptimizer outer =
      sync.is_elastic() ? job::OuterOptimizer{.lr = sync.beta, .momentum = 0, .nesterov = false} : sync.outer;
  size_t way_at = 0, at = cut.ways;
  double squares = 0, mean_square = 0;
  for (Network& network : end.state.networks) {
    const std::span<float> way = std::span(total).subspan(way_at, network.parameters.trainable.size());
    way_at += way.size();
    for (float& value : way) {
      value *= share;
      mean_square += static_cast<double>(value) * value;
    }
    squares += static_cast<double>(total[at++]) * share;
    if (sync.takes_turns()) {
      take_turns(job.train, rounds_of(begin), network, ways[static_cast<size_t>(&network - end.state.networks.data())],
                 end.state.exchange.shared);
    } else {
      std::vector<float> none;
      std::vector<float>& momentum = sync.is_elastic() ? none : end.state.exchange.shared[kMomentum + network.name];
      momentum.resize(way.size());
      outer_step(outer, network.parameters.trainable, way, momentum);
      graph::enforce(network.constraints, network.parameters.trainable);
    }
    if (!averages(job)) network.optimizer = restarted(network.optimizer, job.train.optimizer);
  }
  for_each_of_rest(job, end.state, [&](auto& values) {
    for (float& value : values) value = share * total[at++];
  });
  for (Measures& step : end.losses)
    for (auto& [name, value] : step) value = total[at++];
  LINAC_CHECK(at == total.size());
  if (averages(job))
    for (size_t n = 0; n < end.state.networks.size(); ++n)
      end.state.networks[n].optimizer.set_updates(any.state.networks[n].optimizer.updates());

  IslandStates::strip(end.state);
  end.state.exchange.shared[kRounds] = {static_cast<float>(rounds_of(begin) + 1)};
  if (job.train.sync.moments != "keep")
    for (auto& [island, kept] : end.kept) kept.optimizers = states.fresh(end.state).optimizers;
  const auto steps = static_cast<int64_t>(any.losses.size());
  end.state.step += steps;
  end.state.global_step += steps;
  end.told.epoch = begin.epoch;
  end.told.global_step = end.state.global_step;
  end.told.round = rounds_of(end.state);
  end.told.steps = steps;
  end.told.drift = mean_square > 0 ? std::sqrt(std::max(0.0, squares - mean_square) / mean_square) : 0;
  end.told.way = std::sqrt(mean_square);
  if (sync.takes_turns()) {
    const Staleness staleness = staleness_of(job.train, rounds_of(begin), begin.networks);
    end.told.staleness = staleness.mean;
    end.told.staleness_max = staleness.max;
  }
  end.told.anew.assign(states.anew().begin(), states.anew().end());
  return end;
}

}  // namespace linac::train
