#include "linac/train/train/loops/fit.h"

#include "linac/base/base/log.h"
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

}  // namespace

FitLoop::FitLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock, FitStart start)
    : job_(job),
      start_(start.network(job)),
      sizes_(start.sizes),
      foreign_(start.foreign),
      model_(start.model(job)),
      input_(job, columns_read()),
      clock_(clock),
      update_(job, group, computing, clock) {
  if (group.rank() == 0) {
    for (const std::string& size : sizes_) log::info("[data] input " + size);
    input_.warn();
    if (const std::string remark = foreign_ ? foreign_->remark() : ""; !remark.empty()) log::warn(remark);
  }
  input_.check_each([this](const data::EventTable& table) { need_fitting_values(table); });
  if (input_.test_events() > 0) need_fitting_values(input_.test());
  if (job_.train.fit.class_balance == "weights") balance_classes();
  if (group.rank() != 0) return;
  warn_of_classes();
  warn_of_weights();
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
  input_.seek(state, update_.owned());
}

models::Contribution FitLoop::contribution(const TrainState& state, const data::TableBatch& batch, int replica,
                                           const graph::GradientReady& ready) const {
  // Lanes of a stream: each slice has room for the nodes of a graph (nn adds the node's index).
  constexpr uint32_t kLanesPerSlice = 1 << 16;
  const double event_weight = 1.0 / static_cast<double>(job_.train.batch * job_.train.replicas);
  const int64_t slices = job_.train.accumulate, events = job_.train.batch / slices;
  models::Contribution sum;
  for (int64_t i = 0; i < slices; ++i) {
    RngKey key = update_.key(state, replica);
    key.lane = static_cast<uint32_t>(i) * kLanesPerSlice;
    models::Contribution part =
        model_.step(state.networks[kModel].parameters, trained::slice(model_, batch, i * events, events), key,
                    event_weight, slices == 1 ? ready : graph::GradientReady{});
    if (slices == 1) return part;
    add(sum, part, 1.0F / static_cast<float>(slices));
  }
  return sum;
}

StepResult FitLoop::step(TrainState& state, double learning_rate, StopWish wish, const Arrive& arrive) {
  std::vector<data::TableBatch> batches;
  {
    const PhaseClock::Scope time(clock_, TimePhase::kInput);
    batches = input_.next();
  }
  StepResult result;
  update_.run(
      "", model_.measures(), state, kModel, learning_rate,
      [&](size_t i, const graph::GradientReady& ready) {
        return contribution(state, batches[i], update_.owned()[i], ready);
      },
      wish, result, {}, arrive);
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
