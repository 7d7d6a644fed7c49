#include "linac/train/train/local/island_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "linac/base/base/log.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/local/round.h"

namespace linac::train {
namespace {

constexpr const char* kPrefix = "group/";
constexpr const char* kAnew = "anew";  // of an island in a checkpoint: it began anew, and no round counts since

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

// A rank that is lost with none of these, as far as can be: of another place than they all are, else another one than
// the only one. None where there is no need for it, or none such.
std::optional<int> one_elsewhere(const comm::View& view, const std::set<int>& ranks) {
  std::set<std::string> places;
  for (const int rank : ranks) places.insert(place_of_rank(view, rank));
  if (places.size() > 1) return std::nullopt;
  const int size = view.size(), first = *ranks.begin();
  for (int turn = 1; turn < size; ++turn)
    if (const int other = (first + turn) % size; place_of_rank(view, other) != *places.begin()) return other;
  if (ranks.size() > 1 || size == 1) return std::nullopt;
  return (first + 1) % size;
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

// By island, the ranks that have it at this moment, and whether it has begun anew there.
std::map<int, std::map<int, bool>> IslandStates::who_holds() const {
  nlohmann::json own = nlohmann::json::array();
  for (const auto& [island, held] : begun_) own.push_back({island, held.is_anew});
  std::map<int, std::map<int, bool>> holders;
  int rank = 0;
  for (const std::string& text : texts_of_all(group_, own.dump())) {
    for (const auto& one : nlohmann::json::parse(text)) holders[one.at(0)][rank] = one.at(1);
    ++rank;
  }
  return holders;
}

// Who has lost others may lose more on the way: what a worker has stays with it until another round counts.
void IslandStates::find(const TrainState& state) {
  const auto is_past = [&](const auto& one) { return !one.second.is_at(state); };
  std::erase_if(begun_, is_past);
  std::erase_if(offered_, is_past);
  begun_.merge(offered_);
  offered_.clear();
  anew_.clear();
  const auto begin_with = [&](int island, IslandState one, bool is_anew) {
    begun_.insert_or_assign(island, Held{state.rollbacks, state.global_step, std::move(one), is_anew});
  };
  if (!keeps() || rounds_of(state) == 0) {
    begun_.clear();
    for (const int island : islands_.carried()) begin_with(island, fresh(state), false);
    return;
  }
  take_told(state);
  std::map<int, std::map<int, bool>> holders = who_holds();
  const auto& carried = islands_.carried();
  for (int island = 0; island < islands_.count(); ++island) {
    const std::map<int, bool>& have = holders[island];
    const bool is_anew = have.empty() || have.begin()->second;
    if (is_anew) anew_.insert(island);
    if (have.empty()) {
      if (std::ranges::find(carried, island) != carried.end()) begin_with(island, fresh(state), true);
      if (group_.rank() == 0)
        log::warn(fmt::format("[train] group {}: nobody has what it had kept; its optimiser begins anew", island));
      continue;
    }
    std::vector<int> ranks{have.begin()->first};
    for (const int rank : islands_.place(island).ranks)
      if (!have.contains(rank)) ranks.push_back(rank);
    // Who alone has it, or all who are at the same place, may be lost before the next round makes a copy.
    if (job_.train.sync.copies) {
      std::set<int> all(ranks.begin(), ranks.end());
      for (const auto& [rank, unused] : have) all.insert(rank);
      if (const auto further = one_elsewhere(group_.view(), all)) ranks.push_back(*further);
    }
    if (ranks.size() == 1 || std::ranges::find(ranks, group_.rank()) == ranks.end()) continue;
    const bool is_source = ranks.front() == group_.rank();
    IslandState coming = is_source ? IslandState{} : fresh(state);
    for_each_buffer(island, state, is_source ? begun_.at(island).state : coming,
                    [&](const std::string&, std::span<float> values) {
                      group_.broadcast_among(ranks, std::as_writable_bytes(values));
                    });
    if (!is_source) begin_with(island, std::move(coming), is_anew);
  }
}

// Of what a checkpoint tells, or what was gathered for one, this worker takes what it lacks.
void IslandStates::take_told(const TrainState& state) {
  if (told_in(state) != islands_.count()) return;
  for (int island = 0; island < islands_.count(); ++island) {
    if (begun_.contains(island)) continue;
    Held held{state.rollbacks, state.global_step, fresh(state),
              state.exchange.shared.contains(prefix_of(island) + kAnew)};
    for_each_buffer(island, state, held.state, [&](const std::string& name, std::span<float> values) {
      const auto found = state.exchange.shared.find(name);
      if (found != state.exchange.shared.end() && found->second.size() == values.size())
        std::ranges::copy(found->second, values.begin());
    });
    begun_.emplace(island, std::move(held));
  }
}

void IslandStates::begin_anew(const TrainState& state, const std::set<int>& islands) {
  for (const int island : islands) {
    anew_.insert(island);
    if (begun_.contains(island))
      begun_.insert_or_assign(island, Held{state.rollbacks, state.global_step, fresh(state), true});
  }
}

void IslandStates::forget() {
  begun_.clear();
  offered_.clear();
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
    auto at = copies.begin();
    for (const int island : islands_.watched()) {
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
  anew_.clear();
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
    if (anew_.contains(island)) told[prefix_of(island) + kAnew] = {1};
  }
  strip(state);
  state.exchange.shared.merge(told);
}

void IslandStates::strip(TrainState& state) {
  std::erase_if(state.exchange.shared, [](const auto& one) { return one.first.starts_with(kPrefix); });
}

}  // namespace linac::train
