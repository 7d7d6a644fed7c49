#include "linac/train/adversarial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/error.h"
#include "linac/models/torch_threads.h"
#include "linac/physics/shower_record.h"
#include "linac/train/quick_figures.h"
#include "linac/train/shower_generator.h"

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

// What one replica finds out about its part of the test showers, and its place in the message that adds the parts up.
struct AdversarialStep::TestShare {
  static constexpr size_t kPhases = 3;  // d_real, d_fake, g

  TestShare(const EventShape& shape, int64_t looked_at)
      : generated(shape.x, shape.y, shape.z),
        reference(generated),
        looked_at(looked_at),
        record_size(physics::record_size(shape)),
        records(2 * static_cast<size_t>(looked_at) * record_size) {}

  // The row of an event among the records: those of generated showers first.
  std::span<float> record(bool real, int64_t event) {
    const auto row = static_cast<size_t>((real ? looked_at : 0) + event);
    return std::span(records).subspan(row * record_size, record_size);
  }

  AlignedFloats message() const {
    AlignedFloats values;
    for (const Parts& parts : losses) values.insert(values.end(), parts.begin(), parts.end());
    for (const physics::Projections* projections : {&generated, &reference}) {
      const auto flat = projections->flat();
      values.insert(values.end(), flat.begin(), flat.end());
    }
    values.insert(values.end(), records.begin(), records.end());
    return values;
  }

  void assign(std::span<const float> message, int64_t events) {
    for (Parts& parts : losses) {
      parts = as_parts(message);
      message = message.subspan(kLossParts);
    }
    for (physics::Projections* projections : {&generated, &reference}) {
      const size_t size = projections->flat().size();
      projections->assign_flat(message.first(size), events);
      message = message.subspan(size);
    }
    std::copy(message.begin(), message.end(), records.begin());
  }

  std::array<Parts, kPhases> losses{};
  physics::Projections generated, reference;
  int64_t looked_at;  // events that get a record: the first ones
  size_t record_size;
  AlignedFloats records;  // zero where another replica looked
};

void AdversarialStep::test_chunk(const TrainState& state, const data::Dataset& dataset, int64_t chunk,
                                 TestShare& share) const {
  const int64_t events = dataset.size(), first = chunk * job_.train.batch;
  std::vector<int64_t> wanted(static_cast<size_t>(std::min(job_.train.batch, events - first)));
  std::iota(wanted.begin(), wanted.end(), first);
  data::SampleBatch samples;
  dataset.read(wanted, samples);
  const Batch real = as_batch(samples);
  const RngKey key{
      .seed = job_.train.seed, .epoch = static_cast<uint32_t>(state.epoch), .step = static_cast<uint32_t>(chunk)};
  const auto images = model_.sampler().run(state.generator.parameters, model_.test_latents(real, key));
  const auto add_losses = [&](size_t phase, std::span<const float> shown, float label) {
    const auto parts =
        model_.test_losses(state.discriminator.parameters, real, shown, label, 1.0 / static_cast<double>(events));
    for (size_t part = 0; part < kLossParts; ++part) share.losses[phase][part] += parts[part];
  };
  add_losses(0, real.image, 1);
  add_losses(1, images, 0);
  add_losses(2, images, 1);
  physics::Observer observer(dataset.shape(), job_.validate.threshold_gev);
  for (const bool is_real : {false, true}) {
    const std::vector<float> gev = to_gev(job_, is_real ? real.image : std::span<const float>(images));
    (is_real ? share.reference : share.generated).add(gev);
    const auto cells = static_cast<size_t>(dataset.shape().cells());
    for (size_t i = 0; i < wanted.size() && wanted[i] < share.looked_at; ++i) {
      const double energy_gev = real.energy[i] * dataset.preprocessing().energy_unit_gev;
      physics::to_record(observer.observe(std::span(gev).subspan(i * cells, cells), energy_gev, real.angle[i]),
                         share.record(is_real, wanted[i]));
    }
  }
}

TestResult AdversarialStep::test(const TrainState& state, const data::Dataset& dataset, Figures figures) {
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  const int64_t chunks = (dataset.size() + job_.train.batch - 1) / job_.train.batch;
  const int64_t looked_at = figures == Figures::kWanted ? std::min(dataset.size(), job_.validate.events) : 0;

  // Replica r takes the chunks r, r + replicas, ...: the division of the work follows the replicas, like everything
  // else.
  std::vector<AlignedFloats> messages(owned_.size());
  pool_.run(static_cast<int>(owned_.size()), [&](int index) {
    TestShare share(dataset.shape(), looked_at);
    for (int64_t chunk = owned_[static_cast<size_t>(index)]; chunk < chunks; chunk += job_.train.replicas)
      test_chunk(state, dataset, chunk, share);
    messages[static_cast<size_t>(index)] = share.message();
  });
  TestShare whole(dataset.shape(), looked_at);
  AlignedFloats total(whole.message().size());
  std::vector<std::span<float>> spans(messages.begin(), messages.end());
  sum_.reduce(spans, total);
  whole.assign(total, dataset.size());

  TestResult result{.losses = {{"d_real", whole.losses[0]}, {"d_fake", whole.losses[1]}, {"g", whole.losses[2]}},
                    .generated = whole.generated,
                    .reference = whole.reference,
                    .physics = {},
                    .signs_of_collapse = {}};
  if (looked_at > 0) {
    const QuickFigures quick = quick_figures(dataset, looked_at, [&](bool real, int64_t event) {
      return physics::from_record(whole.record(real, event), dataset.shape());
    });
    result.physics = quick.values;
    result.signs_of_collapse = quick.signs_of_collapse;
  }
  return result;
}

}  // namespace linac::train
