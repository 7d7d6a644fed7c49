#include "linac/train/train/loops/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "linac/base/base/log.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/loops/fit_evaluation.h"
#include "linac/train/trained/labelled_data.h"

namespace linac::train {
namespace {

void add(models::Contribution& sum, const models::Contribution& part, float share) {
  if (sum.losses.empty()) {
    sum.gradient.assign(part.gradient.size(), 0.0F);
    sum.statistics.assign(part.statistics.size(), 0.0F);
    sum.losses.assign(part.losses.size(), 0.0F);
  }
  const auto add_to = [](auto& total, const auto& values, float factor) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += factor * values[i];
  };
  add_to(sum.gradient, part.gradient, 1);
  add_to(sum.statistics, part.statistics, share);
  add_to(sum.losses, part.losses, 1);
  sum.finite = sum.finite && part.finite;
}

// Lanes of a stream: each slice has room for the nodes of a graph (nn adds the node's index).
RngKey key_of_slice(RngKey key, int64_t slice) {
  constexpr uint32_t kLanesPerSlice = 1 << 16;
  key.lane = static_cast<uint32_t>(slice) * kLanesPerSlice;
  return key;
}

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

FitLoop::FitLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock, FitStart start)
    : job_(job),
      start_(start.network(job)),
      remarks_(start.remarks),
      foreign_(start.foreign),
      model_(start.model(job)),
      input_(job, columns_read()),
      clock_(clock),
      update_(job, group, computing, clock) {
  if (group.rank() == 0) {
    for (const auto& [what, text] : remarks_) log::info(fmt::format("[data] {} {}", what, text));
    input_.warn();
    if (const std::string remark = foreign_ ? foreign_->remark() : ""; !remark.empty()) log::warn(remark);
  }
  input_.check_each([this](const data::EventTable& table) { need_fitting_values(table); });
  if (input_.test_events() > 0) need_fitting_values(input_.test());
  if (weighs_steps()) model_.weigh_steps();
  if (job_.train.fit.class_balance == "weights") balance_classes();
  if (group.rank() != 0) return;
  warn_of_classes();
  warn_of_weights();
  warn_of_logits();
  warn_of_optimizer();
}

std::vector<const graph::Graph*> FitLoop::graphs() const {
  return {&model_.graph()};
}

TrainState FitLoop::initial_state() const {
  TrainState state;
  state.networks.push_back(start_);
  return state;
}

void FitLoop::seek(const TrainState& state) {
  update_.take_place(state);
  input_.seek(state, update_.owned_replicas());
}

models::Contribution FitLoop::contribution(const TrainState& state, const data::TableBatch& batch, int piece,
                                           const graph::GradientReady& ready) {
  const double event_weight = 1.0 / static_cast<double>(job_.train.batch * job_.train.replicas);
  const int64_t slices = job_.train.accumulate, events = job_.train.batch / slices;
  models::Contribution sum;
  for (int64_t i = 0; i < slices; ++i) {
    const RngKey key = key_of_slice(update_.key(state, update_.replica_of(piece)), i);
    models::Contribution part =
        model_.step(state.networks[kModel].parameters, trained::slice(model_, batch, i * events, events), key,
                    event_weight, slices == 1 ? ready : graph::GradientReady{}, update_.link(piece));
    if (slices > 1)
      add(sum, part, 1.0F / static_cast<float>(slices));
    else
      sum = std::move(part);
  }
  sum.read = update_.read_digest(state, batch);
  return sum;
}

std::string FitLoop::broken_part(const models::Contribution& contribution, const Network& network) const {
  if (contribution.finite) return "";
  for (size_t i = 0; i < contribution.losses.size(); ++i)
    if (!std::isfinite(contribution.losses[i])) return fmt::format("'{}'", model_.measures().at(i));
  for (const graph::Slot& slot : network.parameters.trainable_layout.slots) {
    if (contribution.gradient.empty()) break;  // it stayed on a GPU
    const auto offset = static_cast<size_t>(slot.offset), size = static_cast<size_t>(slot.size);
    if (!all_finite(std::span(contribution.gradient).subspan(offset, size)))
      return fmt::format("the gradient of '{}'", slot.name);
  }
  return all_finite(contribution.statistics) ? "the gradient" : "a statistic of the batch";
}

// Computes the replicas that are not finite once more, layer by layer. Collective: all workers say the same.
StepResult::Cause FitLoop::cause_of(const TrainState& state, const std::vector<data::TableBatch>& batches,
                                    const std::vector<std::string>& broken) {
  nlohmann::json mine{{"events", 0}, {"layer", ""}, {"first", ""}, {"reason", ""}, {"advice", ""}, {"part", ""}};
  const int64_t events = job_.train.batch / job_.train.accumulate;
  for (size_t i = 0; i < broken.size(); ++i) {
    if (broken[i].empty()) continue;
    if (mine["part"] == "") mine["part"] = broken[i];
    const size_t batch = update_.replica_index(i);
    const int replica = update_.replica_of(update_.owned()[i]);
    for (int64_t slice = 0; slice < job_.train.accumulate; ++slice) {
      const auto found = model_.find_not_finite(state.networks[kModel].parameters,
                                                trained::slice(model_, batches[batch], slice * events, events),
                                                key_of_slice(update_.key(state, replica), slice));
      if (!found) continue;
      mine["events"] = mine["events"].get<size_t>() + found->events.size();
      if (mine["layer"] != "") continue;
      mine["layer"] = found->layer;
      mine["first"] = input_.describe_event(batch, slice * events + found->events.front());
      mine["reason"] = models::reason_of(*found);
      mine["advice"] = models::advice_for_training(*found);
    }
  }
  size_t count = 0;
  nlohmann::json told;  // of the first worker that knows a layer, or else a part
  const std::string text_of_mine = mine.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const std::string& text : texts_of_all(update_.group(), text_of_mine)) {
    const auto one = nlohmann::json::parse(text);
    count += one.at("events").get<size_t>();
    if (told.is_null() || (told["layer"] == "" && (one["layer"] != "" || told["part"] == ""))) told = one;
  }
  if (told["layer"] == "")
    return {.words = foreign_ ? ""
                              : fmt::format("the outputs of all events are finite, {} is not",
                                            told["part"].get<std::string>()),
            .advice = ""};
  return {.words = fmt::format("{} gives NaN or Inf for {} of the step's {} events, first for {}: {}",
                               told["layer"].get<std::string>(), count, job_.train.batch * job_.train.replicas,
                               told["first"].get<std::string>(), told["reason"].get<std::string>()),
          .advice = told["advice"]};
}

StepResult FitLoop::step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) {
  std::vector<data::TableBatch> batches;
  {
    const PhaseClock::Scope time(clock_, TimePhase::kInput);
    batches = input_.next();
  }
  update_.see_read(state, batches);
  StepResult result;
  std::vector<std::string> broken(update_.owned().size());
  update_.run(
      "", model_.measures(), state, kModel, learning_rate,
      [&](size_t i, const graph::GradientReady& ready) {
        models::Contribution made = contribution(state, batches[update_.replica_index(i)], update_.owned()[i], ready);
        broken[i] = broken_part(made, state.networks[kModel]);
        return made;
      },
      wish, result, {}, arrive,
      [&](int replica) {
        return contribution(state, update_.as_read(state, replica, input_.batch_of(state, replica)), replica, {});
      });
  if (result.health == Health::kNotFinite) result.cause = cause_of(state, batches, broken);
  return result;
}

std::vector<UpdateOutline> FitLoop::updates(const TrainState& state, int) const {
  const bool leaves_early = job_.train.accumulate == 1 && model_.tells_gradients();
  return {update_.outline("", state, kModel, model_.measures().size(), leaves_early)};
}

TestResult FitLoop::test(const TrainState& state, Figures) {
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  return {.losses = FitEvaluation(job_, model_, update_).run(state.networks[kModel].parameters, input_.test()),
          .physics = {},
          .signs_of_collapse = {}};
}

}  // namespace linac::train
