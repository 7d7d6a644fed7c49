#include "linac/base/error.h"
#include "linac/train/adversarial.h"
#include "linac/train/chain_training.h"
#include "linac/train/custom.h"
#include "linac/train/fit.h"

namespace linac::train {
namespace {

using LoopPointer = std::unique_ptr<Loop>;

// What make_loop() is given.
struct Given {
  const spec::Job& job;
  comm::Group& group;
  const Computing& computing;
  PhaseClock& clock;
  const trained::KerasFile* read;
};

LoopPointer fit(const Given& given, FitStart start) {
  return std::make_unique<FitLoop>(given.job, given.group, given.computing, given.clock, std::move(start));
}

LoopPointer inclusive_classifier(const Given& given) {
  return fit(given, inclusive_classifier_start(given.job));
}
LoopPointer keras(const Given& given) {
  return fit(given, keras_start(given.job, given.read));
}
LoopPointer torchscript(const Given& given) {
  return fit(given, torchscript_start(given.job));
}

LoopPointer adversarial(const Given& given) {
  return std::make_unique<AdversarialLoop>(given.job, given.group, given.computing, given.clock);
}

LoopPointer cell_chain(const Given& given) {
  return std::make_unique<ChainLoop>(given.job, given.group, given.computing, given.clock);
}

// A plug-in offers a loop of its own, or a model to fit.
LoopPointer custom(const Given& given) {
  const auto& settings = given.job.model.as<spec::CustomSettings>();
  auto library = models::open_plugin(settings.file, settings.options);
  if (!models::offers_loop(*library)) return fit(given, plugin_start(given.job));
  return std::make_unique<CustomLoop>(given.job, std::move(library), given.group, given.computing, given.clock);
}

// How each kind of the job's models (spec/model.h) is trained.
struct TrainedKind {
  const char* kind;
  LoopPointer (*make)(const Given& given);
};
constexpr TrainedKind kTrainedKinds[] = {
    {spec::ThreeDGanSettings::kKind, adversarial}, {spec::InclusiveClassifierSettings::kKind, inclusive_classifier},
    {spec::KerasSettings::kKind, keras},           {spec::TorchScriptSettings::kKind, torchscript},
    {spec::CustomSettings::kKind, custom},         {spec::CellChainSettings::kKind, cell_chain},
};
static_assert(std::size(kTrainedKinds) == std::variant_size_v<spec::AnyModel>);

}  // namespace

std::unique_ptr<Loop> make_loop(const spec::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock,
                                const trained::KerasFile* read) {
  for (const TrainedKind& row : kTrainedKinds)
    if (job.model.kind() == row.kind) return row.make({job, group, computing, clock, read});
  LINAC_CHECK(false);
  return nullptr;
}

}  // namespace linac::train
