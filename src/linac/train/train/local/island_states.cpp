#include "linac/train/train/local/island_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "linac/base/base/log.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/local/round.h"

namespace linac::train {
namespace {

constexpr const char* kPrefix = "group/";

// Whole numbers beyond those that a float holds.
constexpr int64_t kDigit = int64_t{1} << 20;

std::string prefix_of(int island) {
  return fmt::format("{}{}/", kPrefix, island);
}

// Of how many islands a checkpoint tells.
int told_in(const TrainState& state) {
  const auto& told = state.exchange.shared;
  const auto tells = [&](int island) {
    const auto first = told.lower_bound(prefix_of(island));
    return first != told.end() && first->first.starts_with(prefix_of(island));
  };
  int islands = 0;
  while (tells(islands)) ++islands;
  return islands;
}

}  // namespace

template <class Visit>
void IslandStates::for_each_buffer(int island, const TrainState& shape, IslandState& state, const Visit& visit) const {
  for (size_t i = 0; i < state.optimizers.size(); ++i) {
    const std::string name = fmt::format("{}{}/", prefix_of(island), shape.networks[i].name);
    if (!state.left_out.empty()) visit(name + "left_out", std::span<float>(state.left_out[i]));
    if (!state.weights.empty()) visit(name + "weights", std::span<float>(state.weights[i]));
    if (job_.train.sync.moments != "keep") continue;
    optimizer::Optimizer& optimizer = state.optimizers[i];
    float updates[] = {static_cast<float>(optimizer.updates() / kDigit),
                       static_cast<float>(optimizer.updates() % kDigit)};
    visit(name + "updates", std::span<float>(updates));
    optimizer.set_updates(whole_number(updates[0]) * kDigit + whole_number(updates[1]));
    for (auto& slot : optimizer.slots()) visit(name + slot.name, std::span<float>(slot.values));
  }
}

IslandStates::IslandStates(const job::Job& job, comm::Group& group, Islands& islands)
    : job_(job), group_(group), islands_(islands) {}

bool IslandStates::keeps() const {
  const job::Sync& sync = job_.train.sync;
  return sync.moments == "keep" || sync.exchange == "int8" || sync.is_elastic();
}

IslandState IslandStates::fresh(const TrainState& state) const {
  IslandState made;
  for (const Network& network : state.networks) {
    made.optimizers.push_back(network.optimizer);
    if (job_.train.sync.exchange == "int8") made.left_out.emplace_back(network.parameters.trainable.size(), 0.0F);
    if (job_.train.sync.is_elastic()) made.weights.push_back(network.parameters.trainable);
  }
  return made;
}

// By island, the ranks that have it at this moment.
std::map<int, std::set<int>> IslandStates::who_holds(const std::map<int, Held>& mine) const {
  nlohmann::json numbers = nlohmann::json::array();
  for (const auto& [island, held] : mine) numbers.push_back(island);
  std::map<int, std::set<int>> holders;
  int rank = 0;
  for (const std::string& text : texts_of_all(group_, numbers.dump())) {
    for (const int island : nlohmann::json::parse(text)) holders[island].insert(rank);
    ++rank;
  }
  return holders;
}

void IslandStates::find(const TrainState& state) {
  std::map<int, Held> mine;
  for (auto* held : {&offered_, &begun_})
    for (auto& [island, one] : *held)
      if (one.is_at(state)) mine.try_emplace(island, std::move(one));
  offered_.clear();
  begun_.clear();
  const auto begin_with = [&](int island, IslandState one) {
    begun_.insert_or_assign(island, Held{state.rollbacks, state.global_step, std::move(one)});
  };
  if (!keeps() || rounds_of(state) == 0) {
    for (const int island : islands_.carried()) begin_with(island, fresh(state));
    return;
  }
  const int told = told_in(state) == islands_.count() ? islands_.count() : 0;
  for (int island = 0; island < told; ++island) {
    if (mine.contains(island)) continue;
    Held held{state.rollbacks, state.global_step, fresh(state)};
    for_each_buffer(island, state, held.state, [&](const std::string& name, std::span<float> values) {
      const auto found = state.exchange.shared.find(name);
      if (found != state.exchange.shared.end() && found->second.size() == values.size())
        std::ranges::copy(found->second, values.begin());
    });
    mine.emplace(island, std::move(held));
  }
  std::map<int, std::set<int>> holders = who_holds(mine);
  const auto& carried = islands_.carried();
  for (int island = 0; island < islands_.count(); ++island) {
    const std::set<int>& have = holders[island];
    const bool carries = std::ranges::find(carried, island) != carried.end();
    if (have.empty()) {
      if (carries) begin_with(island, fresh(state));
      if (group_.rank() == 0)
        log::warn(fmt::format("[train] group {}: nobody has what it had kept; its optimiser begins anew", island));
      continue;
    }
    std::vector<int> ranks{*have.begin()};
    for (const int rank : islands_.place(island).ranks)
      if (!have.contains(rank)) ranks.push_back(rank);
    const auto held = mine.find(island);
    const bool holds = held != mine.end();
    IslandState one = holds ? std::move(held->second.state) : fresh(state);
    if (ranks.size() > 1 && std::ranges::find(ranks, group_.rank()) != ranks.end())
      for_each_buffer(island, state, one, [&](const std::string&, std::span<float> values) {
        group_.broadcast_among(ranks, std::as_writable_bytes(values));
      });
    if (carries || holds) begin_with(island, std::move(one));
  }
}

void IslandStates::offer(const TrainState& behind, std::map<int, IslandState> states) {
  if (keeps() && job_.train.sync.copies) {
    std::vector<float> own;
    for (const int island : islands_.led())
      for_each_buffer(island, behind, states.at(island), [&](const std::string&, std::span<float> values) {
        own.insert(own.end(), values.begin(), values.end());
      });
    size_t floats = 0;
    IslandState shape = fresh(behind);
    for_each_buffer(0, behind, shape, [&](const std::string&, std::span<float> values) { floats += values.size(); });
    const std::vector<float> copies = islands_.watch(own, floats);
    const comm::ReplicaRange watched = islands_.watched();
    auto at = copies.begin();
    for (int island = watched.begin; island < watched.end; ++island) {
      IslandState one = shape;
      for_each_buffer(island, behind, one, [&](const std::string&, std::span<float> values) {
        std::copy_n(at, values.size(), values.begin());
        at += static_cast<std::ptrdiff_t>(values.size());
      });
      states.insert_or_assign(island, std::move(one));
    }
  }
  offered_.clear();
  for (auto& [island, one] : states)
    offered_.insert_or_assign(island, Held{behind.rollbacks, behind.global_step, std::move(one)});
}

void IslandStates::count() {
  begun_ = std::move(offered_);
  offered_.clear();
}

// All or nothing: somebody may be lost meanwhile, and then others have it and this worker has not.
void IslandStates::complete(TrainState& state) const {
  if (!keeps() || rounds_of(state) == 0) return;
  ExchangeState::Values told;
  for (int island = 0; island < islands_.count(); ++island) {
    const auto mine = begun_.find(island);
    IslandState one = mine != begun_.end() ? mine->second.state : fresh(state);
    const int root = islands_.place(island).ranks.front();
    for_each_buffer(island, state, one, [&](const std::string& name, std::span<float> values) {
      group_.broadcast(values, root);
      told[name].assign(values.begin(), values.end());
    });
  }
  strip(state);
  state.exchange.shared.merge(told);
}

void IslandStates::strip(TrainState& state) {
  std::erase_if(state.exchange.shared, [](const auto& one) { return one.first.starts_with(kPrefix); });
}

}  // namespace linac::train
