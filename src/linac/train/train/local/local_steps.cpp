#include "linac/train/train/local/local_steps.h"

#include <algorithm>
#include <set>
#include <utility>

#include "linac/base/base/signals.h"
#include "linac/train/train/local/turns.h"

namespace linac::train {

LocalSteps::LocalSteps(const job::Job& job, comm::Group& group, std::shared_ptr<LoopSteps> inner,
                       std::shared_ptr<Islands> islands, int64_t steps_per_epoch, Rate rate, PhaseClock& clock)
    : job_(job),
      group_(group),
      inner_(std::move(inner)),
      islands_(std::move(islands)),
      steps_per_epoch_(steps_per_epoch),
      rate_(std::move(rate)),
      clock_(clock),
      states_(job, group, *islands_),
      replayed_(anew_rounds_of(job.train.sync.replay, job.train.sync.groups)) {}

int64_t LocalSteps::steps_at_once(const TrainState& state) const {
  const job::Sync& sync = job_.train.sync;
  if (is_exact(state)) return 1;
  int64_t steps = std::min(sync.every, steps_per_epoch_ - state.step);
  if (job_.train.max_steps > 0) steps = std::min(steps, job_.train.max_steps - state.global_step);
  return steps;
}

void LocalSteps::seek(const TrainState& state) {
  // Who comes to a run that went on without it has seen other rounds than those that count. Nothing may fail before
  // this: in the next view it has a moment, and is one of all.
  const comm::View& view = group_.view();
  const bool is_new = view.members[static_cast<size_t>(group_.rank())].moment == comm::Moment{};
  if (std::exchange(view_, view.number) != view.number && is_new) {
    rounds_.clear();
    states_.forget();
  }
  islands_->enter_view();
  states_.find(state);
  // What was done of this very round, by this worker alone, need not be done again.
  std::erase_if(rounds_, [&](const auto& one) {
    const auto& [island, round] = one;
    const auto& carried = islands_->carried();
    const auto steps = static_cast<int64_t>(round.losses.size());
    const bool is_of_round = round.state.rollbacks == state.rollbacks && round.state.epoch == state.epoch &&
                             round.state.global_step - steps == state.global_step;
    const bool half_done = half_done_ && at_ == island && !inner_->changes_at_once();
    return !is_of_round || half_done || round.broken.health != Health::kGood || !islands_->is_alone(island) ||
           std::ranges::find(carried, island) == carried.end();
  });
  half_done_ = false;
  at_.reset();
  if (!is_exact(state)) return;
  islands_->select_all();
  inner_->seek(state);
}

// Changes each network at the end, as a round does.
StepResult LocalSteps::exact_step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) {
  if (inner_->changes_at_once()) return inner_->step(state, learning_rate, wish, arrive);
  TrainState trial = state;
  StepResult result = inner_->step(trial, learning_rate, wish, {});
  if (result.health != Health::kGood) return result;
  arrive();
  state.networks = std::move(trial.networks);
  return result;
}

void LocalSteps::go_on(int island, const TrainState& begin, int64_t steps) {
  islands_->select(island);
  auto [at, is_new] = rounds_.try_emplace(island);
  IslandRound& round = at->second;
  if (is_new) {
    round.state = {.networks = begin.networks,
                   .epoch = begin.epoch,
                   .step = begin.step,
                   .global_step = begin.global_step,
                   .rollbacks = begin.rollbacks,
                   .input = begin.input,
                   .epoch_sums = {},
                   .history = begin.history,
                   .exchange = {},
                   .lineage = begin.lineage};
    const IslandState& kept = states_.of(island);
    for (size_t n = 0; n < round.state.networks.size(); ++n) {
      round.state.networks[n].optimizer = kept.optimizers[n];
      AlignedFloats& weights = round.state.networks[n].parameters.trainable;
      if (!kept.weights.empty()) weights = kept.weights[n];
      if (job_.train.sync.takes_turns()) {
        const auto own = weights_of_group(begin, island, begin.networks[n]);
        weights.assign(own.begin(), own.end());
      }
    }
  }
  const auto left = steps - static_cast<int64_t>(round.losses.size());
  if (left == 0) return;
  if (at_ == island)
    inner_->forget_ahead();
  else
    inner_->seek(round.state);
  at_ = island;
  for (int64_t i = 0; i < left && stop_signal() == 0; ++i) {
    half_done_ = true;
    StepResult result = inner_->step(round.state, rate_(round.state), StepWish::kNone, [] {});
    half_done_ = false;
    if (result.health != Health::kGood) {
      round.broken = std::move(result);
      return;
    }
    round.losses.push_back(std::move(result.losses));
    round.state.input = inner_->input_place();
    ++round.state.step;
    ++round.state.global_step;
  }
}

StepResult LocalSteps::step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) {
  if (is_exact(state)) return exact_step(state, learning_rate, wish, arrive);
  if (rounds_of(state) == 0) states_.find(state);  // the first round goes on with what the exact steps have made
  if (const auto anew = replayed_.find({state.rollbacks, rounds_of(state)}); anew != replayed_.end())
    states_.begin_anew(state, anew->second);
  const int64_t steps = steps_at_once(state);
  for (const int island : islands_->carried()) {
    go_on(island, state, steps);
    if (rounds_.at(island).broken.health != Health::kGood) break;  // the round is in vain for all
  }
  const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
  const double done_s = PhaseClock::now().wall;
  if (stop_signal() != 0) wish = wish_of_signal(job_, stop_signal());
  StepResult result = agree_on_round(group_, rounds_, steps, wish);
  const double agreed_s = PhaseClock::now().wall;
  if (result.health != Health::kGood) {
    rounds_.clear();
    at_.reset();
    return result;
  }
  if (result.broken_off) {  // what is done of the round stays done for who goes on
    result.own_wish = wish;
    return result;
  }
  const int64_t sent_before = islands_->bytes_to_others();
  RoundEnd end = end_of_round(job_, *islands_, state, rounds_, states_);
  end.told.wait_s = agreed_s - done_s;
  states_.offer(end.state, std::move(end.kept));
  end.told.exchange_s = PhaseClock::now().wall - agreed_s;
  end.told.bytes = islands_->bytes_to_others() - sent_before;
  // Who counts the round takes it for granted that all have what the islands keep: nobody may be lost with the only
  // one.
  if (states_.keeps()) group_.barrier();
  arrive();
  states_.count();
  rounds_.clear();
  state.networks = std::move(end.state.networks);
  state.exchange = std::move(end.state.exchange);
  result.each = std::move(end.losses);
  result.round = end.told;
  return result;
}

std::vector<UpdateOutline> LocalSteps::updates(const TrainState& state, int replicas) const {
  std::vector<UpdateOutline> updates = inner_->updates(state, replicas);
  std::set<size_t> networks;
  for (UpdateOutline& update : updates) {
    const Network& network = state.networks[update.network];
    update.parts.clear();
    if (networks.insert(update.network).second)
      update.parts.push_back(
          {.begin = network.parameters.trainable.size(), .bytes = static_cast<double>(bytes_of_round(job_, network))});
    update.leaves_early = false;
    update.beside = 0;
    update.every = static_cast<double>(std::min(job_.train.sync.every, steps_per_epoch_));
  }
  return updates;
}

TestResult LocalSteps::test(const TrainState& state, Figures figures) {
  islands_->select_all();
  return inner_->test(state, figures);
}

}  // namespace linac::train
