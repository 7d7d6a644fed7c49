#include "linac/train/adversarial.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/models/torch_threads.h"

namespace linac::train {
namespace {

using models::threedgan::Batch;
using models::threedgan::Contribution;
using models::threedgan::kLossParts;
using models::threedgan::Phase;

Batch as_batch(const data::SampleBatch& samples) {
  return {samples.image, samples.energy, samples.angle, samples.ecal};
}

Parts as_parts(std::span<const float> values) {
  Parts parts;
  std::copy_n(values.begin(), kLossParts, parts.begin());
  return parts;
}

// A rollback must not meet the same random numbers again: they are what led to the collapse.
uint64_t effective_seed(const spec::Job& job, const TrainState& state) {
  constexpr uint64_t kStride = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  return job.train.seed + static_cast<uint64_t>(state.rollbacks) * kStride;
}

}  // namespace

// The one message of an update: everything its workers must agree on, added up over the replicas.
struct AdversarialStep::Message {
  enum Flag : size_t { kEmptyReplicas, kBrokenReplicas, kStopWanted, kFlags };

  Message(const graph::Parameters& parameters)
      : gradient_size(parameters.trainable.size()),
        statistics_size(parameters.statistics.size()),
        values(gradient_size + statistics_size + kLossParts + kFlags) {}

  std::span<float> gradient() { return std::span(values).first(gradient_size); }
  std::span<float> statistics() { return std::span(values).subspan(gradient_size, statistics_size); }
  std::span<float> losses() { return std::span(values).subspan(gradient_size + statistics_size, kLossParts); }
  float& flag(Flag which) { return values[gradient_size + statistics_size + kLossParts + which]; }

  void fill(const Contribution& contribution, int replicas, bool stop_wanted) {
    std::copy(contribution.gradient.begin(), contribution.gradient.end(), gradient().begin());
    std::transform(contribution.statistics.begin(), contribution.statistics.end(), statistics().begin(),
                   [&](float value) { return value / static_cast<float>(replicas); });
    std::copy(contribution.losses.begin(), contribution.losses.end(), losses().begin());
    flag(kEmptyReplicas) = contribution.all_empty ? 1 : 0;
    flag(kBrokenReplicas) = contribution.finite ? 0 : 1;
    flag(kStopWanted) = stop_wanted ? 1 : 0;
  }

  size_t gradient_size, statistics_size;
  AlignedFloats values;
};

AdversarialStep::AdversarialStep(const spec::Job& job, const models::threedgan::ThreeDGan& model, comm::Group& group,
                                 int concurrency, PhaseClock& clock)
    : job_(job),
      model_(model),
      group_(group),
      owned_(comm::owned_replicas(job.train.replicas, group.rank(), group.size())),
      sum_(group, job.train.replicas),
      pool_(concurrency, [threads = job.train.threads] { models::use_threads(threads); }),
      clock_(clock) {}

models::threedgan::ThreeDGan::StepOptions AdversarialStep::options(const TrainState& state, int replica) const {
  return {.key = {.seed = effective_seed(job_, state),
                  .epoch = static_cast<uint32_t>(state.epoch),
                  .step = static_cast<uint32_t>(state.step),
                  .replica = static_cast<uint32_t>(replica)},
          .event_weight = 1.0 / static_cast<double>(job_.train.batch * job_.train.replicas),
          .flip = job_.train.flip};
}

bool AdversarialStep::phase(const std::string& name, Network& network, double learning_rate,
                            const ReplicaFunction& compute, StepResult& result) {
  std::vector<Message> messages(owned_.size(), Message(network.parameters));
  {
    const PhaseClock::Scope time(clock_, TimePhase::kCompute);
    pool_.run(static_cast<int>(owned_.size()), [&](int i) {
      const auto index = static_cast<size_t>(i);
      messages[index].fill(compute(index), job_.train.replicas, stop_wanted_);
    });
  }
  Message total(network.parameters);
  {
    const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
    std::vector<std::span<float>> buffers;
    for (Message& message : messages) buffers.emplace_back(message.values);
    sum_.reduce(buffers, total.values);
  }
  result.stop_requested = result.stop_requested || total.flag(Message::kStopWanted) > 0;
  result.losses[name] = as_parts(total.losses());
  if (total.flag(Message::kBrokenReplicas) > 0 || total.flag(Message::kEmptyReplicas) > 0) {
    const bool broken = total.flag(Message::kBrokenReplicas) > 0;
    result.health = broken ? Health::kNotFinite : Health::kEmpty;
    result.where =
        fmt::format("{} on {:.0f} of {} replicas", name,
                    total.flag(broken ? Message::kBrokenReplicas : Message::kEmptyReplicas), job_.train.replicas);
    return false;
  }
  const PhaseClock::Scope time(clock_, TimePhase::kUpdate);
  network.optimizer.step(network.parameters.trainable, total.gradient(), learning_rate);
  constexpr float kMomentum = 0.99F;  // of the running statistics, as in the graph's BatchNormalization layers
  auto& running = network.parameters.statistics;
  for (size_t i = 0; i < running.size(); ++i)
    running[i] = kMomentum * running[i] + (1 - kMomentum) * total.statistics()[i];
  return true;
}

StepResult AdversarialStep::run(TrainState& state, const std::vector<data::SampleBatch>& batches, double learning_rate,
                                bool stop_wanted) {
  LINAC_CHECK(batches.size() == owned_.size());
  stop_wanted_ = stop_wanted;
  StepResult result;
  Network &generator = state.generator, &discriminator = state.discriminator;
  const auto options_of = [&](size_t i) { return options(state, owned_[i]); };

  // The images that the discriminator calls fake are made before any update of the step.
  std::vector<std::vector<float>> fakes(owned_.size());
  const auto on_real = [&](size_t i) {
    const Batch batch = as_batch(batches[i]);
    fakes[i] = model_.sampler().run(generator.parameters, model_.fake_latents(batch, options_of(i).key));
    return model_.discriminator_step(discriminator.parameters, batch, batch.image, Phase::kRealDiscriminator,
                                     options_of(i));
  };
  const auto on_fakes = [&](size_t i) {
    return model_.discriminator_step(discriminator.parameters, as_batch(batches[i]), fakes[i],
                                     Phase::kFakeDiscriminator, options_of(i));
  };
  const auto generator_update = [&](Phase phase) {
    return [&, phase](size_t i) {
      return model_.generator_step(generator.parameters, discriminator.parameters, as_batch(batches[i]), phase,
                                   options_of(i));
    };
  };
  if (!phase("d_real", discriminator, learning_rate, on_real, result) ||
      !phase("d_fake", discriminator, learning_rate, on_fakes, result) ||
      !phase("g", generator, learning_rate, generator_update(Phase::kFirstGenerator), result)) {
    return result;
  }
  const Parts first = result.losses["g"];
  if (!phase("g", generator, learning_rate, generator_update(Phase::kSecondGenerator), result)) return result;
  for (size_t part = 0; part < kLossParts; ++part)
    result.losses["g"][part] = 0.5 * (result.losses["g"][part] + first[part]);
  return result;
}

TestResult AdversarialStep::test(const TrainState& state, const data::Dataset& dataset, Figures figures) {
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  return Evaluation(job_, model_, pool_, sum_, owned_).run(state, dataset, figures);
}

}  // namespace linac::train
