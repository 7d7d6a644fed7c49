#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/train/train/input/shared_files.h"
#include "linac/train/train/local/local_steps.h"
#include "linac/train/train/loops/adversarial.h"
#include "linac/train/train/loops/chain_training.h"
#include "linac/train/train/loops/custom.h"
#include "linac/train/train/loops/fit.h"
#include "linac/train/train/monitor.h"

namespace linac::train {
namespace {

// A kind whose parts are one object.
template <class Kind>
Loop loop_of(std::shared_ptr<Kind> kind) {
  return {kind, kind, kind};
}

// What make_loop() is given.
struct Given {
  const job::Job& job;
  comm::Group& group;
  const Computing& computing;
  PhaseClock& clock;
  const trained::KerasFile* read;
};

Loop fit(const Given& given, FitStart start) {
  return loop_of(std::make_shared<FitLoop>(given.job, given.group, given.computing, given.clock, std::move(start)));
}

Loop inclusive_classifier(const Given& given) {
  return fit(given, inclusive_classifier_start(given.job));
}
Loop keras(const Given& given) {
  return fit(given, keras_start(given.job, given.read));
}
Loop torchscript(const Given& given) {
  return fit(given, torchscript_start(given.job));
}

Loop adversarial(const Given& given) {
  return loop_of(std::make_shared<AdversarialLoop>(given.job, given.group, given.computing, given.clock));
}

Loop cell_chain(const Given& given) {
  return loop_of(std::make_shared<ChainLoop>(given.job, given.group, given.computing, given.clock));
}

// A plug-in offers a loop of its own, or a model to fit.
Loop custom(const Given& given) {
  const auto& settings = given.job.model.as<job::CustomSettings>();
  auto library = models::open_plugin(settings.file, settings.options);
  if (!models::offers_loop(*library)) return fit(given, plugin_start(given.job));
  return loop_of(
      std::make_shared<CustomLoop>(given.job, std::move(library), given.group, given.computing, given.clock));
}

// The islands train apart, in rounds of steps.
std::shared_ptr<LoopSteps> apart(const job::Job& job, comm::Group& group, const Loop& loop,
                                 std::shared_ptr<Islands> islands, PhaseClock& clock) {
  const int64_t steps = steps_per_epoch(job, loop.data->train_events());
  const auto rate = [&job, steps, loss = loop.words->loss_name()](const TrainState& state) {
    return rate_of_step(job.train, state, steps, loss);
  };
  return std::make_shared<LocalSteps>(job, group, loop.steps, std::move(islands), steps, rate, clock);
}

// How each kind of the job's models (base/job/model.h) is trained.
struct TrainedKind {
  const char* kind;
  Loop (*make)(const Given& given);
  bool has_parts;  // whether its replicas can be divided (train.split)
};
constexpr TrainedKind kTrainedKinds[] = {
    {job::ThreeDGanSettings::kKind, adversarial, false},
    {job::InclusiveClassifierSettings::kKind, inclusive_classifier, true},
    {job::KerasSettings::kKind, keras, true},
    {job::TorchScriptSettings::kKind, torchscript, false},
    {job::CustomSettings::kKind, custom, false},
    {job::CellChainSettings::kKind, cell_chain, false},
};
static_assert(std::size(kTrainedKinds) == std::variant_size_v<job::AnyModel>);

}  // namespace

Loop make_loop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock,
               const trained::KerasFile* read) {
  Computing own = computing;
  if (job.train.sync.is_apart()) own.islands = std::make_shared<Islands>(job, group);
  for (const TrainedKind& row : kTrainedKinds) {
    if (job.model.kind() != row.kind) continue;
    if (job.train.split.parts() > 1 && !row.has_parts)
      throw user_error(
          fmt::format("[train] train.split divides models from Keras's files, and model.kind = {} is none: set "
                      "train.split to 1 x 1 x 1",
                      row.kind));
    Loop loop = row.make({job, group, own, clock, read});
    if (own.islands) loop.steps = apart(job, group, loop, own.islands, clock);
    // What data.split makes of a file has no event in common.
    if (group.rank() == 0 && !job.data.test.empty()) warn_of_shared_files(loop.data->data());
    return loop;
  }
  LINAC_CHECK(false);
  return {};
}

}  // namespace linac::train
