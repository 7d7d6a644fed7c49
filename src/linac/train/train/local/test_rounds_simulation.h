#pragma once
// A training in rounds (test_toy_rounds.h) on simulated processes (test_simulated_views.h): the real LocalSteps,
// islands and what they keep, driven in the order of trainer.cpp. The auditor looks at every round that counts, and in
// the end one worker repeats the run by what its record says. A schedule and its settings follow from the seed alone.
// Used by one thread.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/train/train/local/test_simulated_views.h"
#include "linac/train/train/local/test_toy_rounds.h"
#include "linac/train/train/state/same_state.h"
#include "linac/train/train/state/share_state.h"

namespace linac::train {

class RoundsSimulation {
 public:
  RoundsSimulation(uint64_t seed, bool verbose)
      : setup_(setup_of(seed)),
        views_(
            seed, verbose, [this](Process& self) { live(self); },
            [this](comm::View& view, comm::Dice& dice) { deal(view, dice); }) {}

  /// The first violation in words; empty: none.
  std::string run() {
    if (std::string violation = views_.play(); !violation.empty()) return violation;
    if (!is_finished_) return "at the end: nobody has finished";
    const Chain calm = replay(setup_, chain_);
    for (const auto& [steps, counted] : chain_) {
      const auto found = calm.find(steps);
      if (found == calm.end()) return fmt::format("at the end: nothing ends behind step {}", steps);
      for (const auto& [island, digest] : counted.began)
        if (digest != found->second.began.at(island))
          return fmt::format("at the end: island {} began the round behind step {} with another state", island, steps);
      if (counted.digest != found->second.digest)
        return fmt::format("at the end: one worker has other bits behind step {}", steps);
      anew += static_cast<int64_t>(counted.anew.size());
    }
    return "";
  }

  const FaultCounts& counts() const { return views_.counts; }
  int64_t anew = 0, rounds = 0, checkpoints = 0;

 private:
  struct Worker : ToyWorker {
    using ToyWorker::ToyWorker;
    TrainState state{};
    bool save_wanted = false, next_view_wanted = false, some_leave = false;
    StepWish wish = StepWish::kNone;
  };

  void deal(comm::View& view, comm::Dice& dice) const {
    const job::Train& train = setup_.job.train;
    if (dice.chance(0.3)) return;
    std::vector<double> seconds;
    for (int i = 0; i < view.size(); ++i) seconds.push_back(dice.pick(1, 5));
    const std::vector<int> shares = comm::deal_packs(train.replicas, train.replicas / train.sync.groups, seconds);
    for (size_t i = 0; i < shares.size(); ++i) view.members[i].share = shares[i];
  }

  static Error left() { return {ErrorCode::kPeerLost, "the view is left"}; }
  static comm::Moment moment_of(const TrainState& state) {
    return {.rollbacks = state.rollbacks, .steps = state.global_step, .epochs = state.epoch};
  }
  void arrive(comm::Group& group, const comm::Moment& moment) {
    if (!group.commit(moment)) throw left();
  }
  void violate(const Process& self, const std::string& text) {
    views_.violate(fmt::format("p{}: {}", self.number, text));
  }

  void live(Process& self) {
    SimulatedGroup group(views_, self);
    Worker worker(setup_, group, [&](const std::string& text) { violate(self, text); });
    worker.state = worker.steps.initial_state();
    bool here = group.next_view("");
    while (here) {
      std::string why;
      try {
        enter_view(self, group, worker);
        if (!train(self, group, worker)) return views_.leave_the_run(self);
        worker.steps.complete(worker.state);
        group.barrier();
        is_finished_ = true;
        return views_.finish();
      } catch (const Error& error) {
        why = error.what();
        if (error.code() != ErrorCode::kPeerLost) violate(self, why);
      }
      here = group.next_view(why);
    }
  }

  void enter_view(Process& self, comm::Group& group, Worker& worker) {
    const comm::View& view = group.view();
    const int source = view.source();
    const comm::Moment latest = view.members[static_cast<size_t>(source)].moment;
    const bool is_founding = latest == comm::Moment{};
    if (is_founding || view.needs_state()) {
      if (is_founding && group.rank() == 0 && checkpoint_) worker.state = *checkpoint_;
      std::vector<int> ranks{is_founding ? 0 : source};
      for (int rank = 0; rank < view.size(); ++rank)
        if (rank != ranks.front() && (is_founding || view.members[static_cast<size_t>(rank)].moment != latest))
          ranks.push_back(rank);
      if (std::ranges::find(ranks, group.rank()) != ranks.end()) share_state(group, ranks, worker.state);
    }
    arrive(group, moment_of(worker.state));
    look_for_holders(view, worker.state, is_founding);
    worker.steps.seek(worker.state);
    worker.steps.release(worker.state);
    hold_carried(self, view, worker);
  }

  // False: it leaves the others.
  bool train(Process& self, comm::Group& group, Worker& worker) {
    TrainState& state = worker.state;
    while (state.epoch < kEpochs) {
      while (state.step < kEpochSteps) {
        step(self, group, worker);
        if (worker.save_wanted) save(group, worker);
        if (worker.next_view_wanted || worker.some_leave) group.barrier();
        if (worker.some_leave && worker.wish == StepWish::kLeave) return false;
        if (worker.next_view_wanted) throw left();
      }
      end_epoch(group, worker);
    }
    return true;
  }

  void step(Process& self, comm::Group& group, Worker& worker) {
    TrainState& state = worker.state;
    const int64_t begin = state.global_step, steps = worker.steps.steps_at_once(state);
    worker.toy->round_begin = begin;
    comm::Moment behind = moment_of(state);
    behind.steps += steps;
    worker.wish = views_.dice.chance(0.06) ? StepWish::kSave : StepWish::kNone;
    if (views_.now() < SimulatedViews::kFaultsEnd && group.size() > 1 && views_.dice.chance(0.01))
      worker.wish = StepWish::kLeave;
    const StepResult result = worker.steps.step(state, rate_of(state), worker.wish, [&] { arrive(group, behind); });
    if (!worker.steps.changes_at_once()) arrive(group, behind);
    if (result.health != Health::kGood || result.broken_off) violate(self, "a round is no round");
    worker.save_wanted = result.save_wanted;
    worker.some_leave = result.leaving > 0;
    worker.next_view_wanted = result.next_view_wanted;
    for (const Measures& losses : result.each.empty() ? std::vector{result.losses} : result.each) {
      check_events(self, state, losses);
      ++state.step;
      ++state.global_step;
    }
    if (state.global_step != begin + steps) violate(self, "a round of another length than was said");
    count(self, group.view(), worker, begin, result);
  }

  void save(comm::Group& group, Worker& worker) {
    try {
      worker.steps.complete(worker.state);
      need_same_state(group, worker.state);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kPeerLost) keep(group, worker.state);
      throw;
    }
    keep(group, worker.state);
    worker.steps.release(worker.state);
  }

  void end_epoch(comm::Group& group, Worker& worker) {
    TrainState& state = worker.state;
    comm::Moment behind = moment_of(state);
    ++behind.epochs;
    need_same_state(group, state);
    const bool is_due = state.epoch % 2 == 0;
    if (is_due) worker.steps.complete(state);
    arrive(group, behind);
    ++state.epoch;
    state.step = 0;
    if (is_due) keep(group, state);
    worker.steps.release(state);
  }

  // The fence of the record keeps whoever is of an old view from it.
  void keep(const comm::Group& group, const TrainState& state) {
    if (group.rank() != 0 || group.view().number != views_.newest().number) return;
    checkpoint_ = state;
    ++checkpoints;
  }

  // --- the auditor --------------------------------------------------------------------------------------------------

  // Each event of each step once, over all islands.
  void check_events(const Process& self, const TrainState& state, const Measures& losses) {
    float which = 0;
    for (int replica = 0; replica < setup_.job.train.replicas; ++replica)
      which += events_of(state.epoch, state.step, replica);
    if (losses.at("events") != setup_.job.train.replicas || losses.at("which") != which || state.step >= kEpochSteps)
      violate(self, fmt::format("epoch {}, step {} has not each of its events once", state.epoch, state.step));
  }

  // Before the first of a view looks for what islands keep: which of them may begin anew. Those of which all are gone
  // that had it; where there are copies, more than one of the last view that all had entered, or the only one; where
  // that was at several places, of more than one of them.
  void look_for_holders(const comm::View& view, const TrainState& state, bool is_founding) {
    if (view.number != views_.newest().number || looked_at_ == view.number) return;
    looked_at_ = view.number;
    if (is_founding) kept_.clear();
    Kept& kept = kept_[state.global_step];
    const auto told = state.exchange.shared.lower_bound("group/");
    const bool is_told = told != state.exchange.shared.end() && told->first.starts_with("group/");
    int lost = 0;
    std::set<std::string> places, lost_places;
    for (int rank = 0; rank < whole_.size(); ++rank) {
      places.insert(place_of_rank(whole_, rank));
      if (view.rank_of(key_of(whole_, rank)) >= 0) continue;
      ++lost;
      lost_places.insert(place_of_rank(whole_, rank));
    }
    const bool lost_together = places.size() > 1 ? lost_places.size() > 1 : lost > 1;
    const bool may_lose = is_founding || !setup_.job.train.sync.copies || lost_together || lost == whole_.size();
    for (int island = 0; island < setup_.job.train.sync.groups; ++island) {
      std::set<uint64_t>& keys = kept.holders[island];
      if (is_founding && is_told)
        for (const comm::Member& member : view.members) keys.insert(member.key);
      std::erase_if(keys, [&](uint64_t key) { return view.rank_of(key) < 0; });
      const bool is_told_anew = state.exchange.shared.contains(fmt::format("group/{}/anew", island));
      if ((keys.empty() && may_lose) || (is_founding && is_told_anew)) kept.anew.insert(island);
    }
  }

  void hold_carried(const Process& self, const comm::View& view, const Worker& worker) {
    if (view.number != views_.newest().number) return;
    Kept& kept = kept_[worker.state.global_step];
    for (const int island : worker.islands->carried())
      if (!kept.anew.contains(island)) kept.holders[island].insert(self.key);
    if (++entered_[view.number] == view.size()) whole_ = view;
  }

  void count(const Process& self, const comm::View& view, const Worker& worker, int64_t begin,
             const StepResult& result) {
    const TrainState& state = worker.state;
    Counted counted{.view = view.number, .begin = begin, .digest = digest_of(state)};
    if (result.round) counted.anew = result.round->anew;
    if (result.round)
      for (const int island : worker.islands->carried())
        if (const auto told = worker.toy->began.find(island);
            told != worker.toy->began.end() && told->second.behind == begin)
          counted.began[island] = told->second.digest;
    std::string who;
    for (const int island : worker.islands->carried()) who += fmt::format(" {}", island);
    views_.say(fmt::format("p{} counts step {} in view {} with {:08x}, carries{}, anew {}", self.number,
                           state.global_step, view.number, counted.digest, who, fmt::join(counted.anew, " ")));
    auto [at, is_first] = chain_.try_emplace(state.global_step, counted);
    Counted& before = at->second;
    if (before.view > view.number) return;
    if (is_first || before.view < view.number) {
      before = counted;
      ++rounds;
      if (view.number == views_.newest().number) hold(view, self, state.global_step, begin, result);
      return;
    }
    if (before.digest != counted.digest || before.anew != counted.anew || before.begin != begin)
      violate(self, fmt::format("other bits than others of the view behind step {}", state.global_step));
    for (const auto& [island, digest] : counted.began)
      if (before.began.emplace(island, digest).first->second != digest)
        violate(self, fmt::format("carriers of island {} began with other states", island));
  }

  // From here on, who carries an island has its state, and who speaks for the next one.
  void hold(const comm::View& view, const Process& self, int64_t steps, int64_t begin, const StepResult& result) {
    if (result.round)
      for (const int64_t island : result.round->anew)
        if (!kept_[begin].anew.contains(static_cast<int>(island)))
          violate(self, fmt::format("island {} begins anew, though not all are lost that had what it kept", island));
    Kept& kept = kept_[steps] = {};
    const job::Train& train = setup_.job.train;
    const int each = train.replicas / train.sync.groups;
    std::vector<int> leaders;
    std::map<int, std::vector<int>> carriers;
    for (int rank = 0; rank < view.size(); ++rank) {
      const comm::ReplicaRange range = comm::replicas_of(view, rank, train.replicas);
      for (int replica = range.begin; replica < range.end; ++replica) carriers[replica / each].push_back(rank);
    }
    for (const auto& [island, ranks] : carriers)
      if (leaders.empty() || leaders.back() != ranks.front()) leaders.push_back(ranks.front());
    std::vector<std::string> places;
    for (int rank = 0; rank < view.size(); ++rank) places.push_back(place_of_rank(view, rank));
    const std::vector<int> keepers = keepers_of_copies(leaders, places);
    for (const auto& [island, ranks] : carriers) {
      for (const int rank : ranks) kept.holders[island].insert(key_of(view, rank));
      const auto leader = static_cast<size_t>(std::ranges::find(leaders, ranks.front()) - leaders.begin());
      if (train.sync.copies) kept.holders[island].insert(key_of(view, keepers[leader]));
    }
  }
  static uint64_t key_of(const comm::View& view, int rank) { return view.members[static_cast<size_t>(rank)].key; }

  const RoundsSetup setup_;
  SimulatedViews views_;
  std::optional<TrainState> checkpoint_;
  Chain chain_;
  // At a moment: who has what an island keeps, by key, as far as the auditor knows; and which may begin anew.
  struct Kept {
    std::map<int, std::set<uint64_t>> holders{};
    std::set<int> anew{};
  };
  std::map<int64_t, Kept> kept_;      // by steps
  std::map<int64_t, int> entered_{};  // members of a view that have what they need
  comm::View whole_{};                // the last one that all have entered
  int64_t looked_at_ = 0;             // the number of the view
  bool is_finished_ = false;
};

}  // namespace linac::train
