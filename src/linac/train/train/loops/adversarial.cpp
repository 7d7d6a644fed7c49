#include "linac/train/train/loops/adversarial.h"

#include <algorithm>

#include "linac/train/train/input/input.h"
#include "linac/train/train/loops/quick_figures.h"
#include "linac/train/train/monitor.h"
#include "linac/train/trained/gan_architecture.h"

namespace linac::train {
namespace {

using models::Contribution;
using models::threedgan::Batch;
using models::threedgan::kLossNames;
using models::threedgan::Phase;

Batch as_batch(const data::SampleBatch& samples) {
  return {samples.image, samples.energy, samples.angle, samples.ecal};
}

}  // namespace

AdversarialLoop::AdversarialLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock)
    : job_(job),
      model_(trained::architecture_of(job), numerics_of(job)),
      start_(trained::start_of(job, model_.architecture())),
      input_(job),
      clock_(clock),
      update_(job, group, computing, clock) {
  for (const Monitor& monitor : monitors(job)) need_known_figure(monitor.name);
  need_directions(job, loss_name());
  need_model_shape(model_.architecture().image(), input_.train());
  if (input_.test()) need_model_shape(model_.architecture().image(), *input_.test());
}

std::vector<const graph::Graph*> AdversarialLoop::graphs() const {
  return {&model_.generator(), &model_.discriminator()};
}

nlohmann::json AdversarialLoop::data() const {
  return input_.json();
}

int64_t AdversarialLoop::train_events() const {
  return input_.train_events();
}

int64_t AdversarialLoop::test_events() const {
  return input_.test() ? input_.test()->size() : 0;
}

std::vector<std::string> AdversarialLoop::describe_data() const {
  return input_.describe();
}

TrainState AdversarialLoop::initial_state() const {
  const auto network = [&](const char* name, const graph::Graph& graph, graph::Parameters parameters) {
    return trained::fresh_network(name, graph, std::move(parameters), job_.train.optimizer);
  };
  const uint64_t seed = job_.train.seed;
  TrainState state;
  state.networks.push_back(
      network("generator", model_.generator(), start_.generator ? *start_.generator : model_.initial_generator(seed)));
  state.networks.push_back(network("discriminator", model_.discriminator(),
                                   start_.discriminator ? *start_.discriminator : model_.initial_discriminator(seed)));
  return state;
}

int64_t AdversarialLoop::alone(int64_t epoch) const {
  const int64_t steps = steps_per_epoch(job_, train_events());
  return std::clamp(job_.train.discriminator_first - epoch * steps, int64_t{0}, steps);
}

void AdversarialLoop::seek(const TrainState& state) {
  update_.take_place(state);
  input_.seek(state, update_.owned());
  place_ = state.input;
  ahead_.reset();
}

void AdversarialLoop::forget_ahead() {
  if (ahead_) std::ranges::fill(ahead_->real, std::nullopt);
}

models::threedgan::ThreeDGan::StepOptions AdversarialLoop::options(const RngKey& key,
                                                                   graph::GradientReady ready) const {
  return {.key = key,
          .event_weight = 1.0 / static_cast<double>(job_.train.batch * job_.train.replicas),
          .flip = job_.train.flip,
          .ready = std::move(ready)};
}

AdversarialLoop::Ahead AdversarialLoop::read_ahead(const TrainState& state, int steps) {
  const PhaseClock::Scope time(clock_, TimePhase::kInput);
  ShowerInput::Step read = input_.next();
  Ahead ahead{.batches = std::move(read.replicas), .place = read.place, .real = {}, .keys = {}};
  ahead.real.resize(ahead.batches.size());
  for (const int replica : update_.owned()) ahead.keys.push_back(update_.key(state, replica, steps));
  return ahead;
}

Contribution AdversarialLoop::on_real(const TrainState& state, const Batch& batch, const RngKey& key,
                                      const graph::GradientReady& ready) const {
  return model_.discriminator_step(state.networks[kDiscriminator].parameters, batch, batch.image,
                                   Phase::kRealDiscriminator, options(key, ready));
}

StepResult AdversarialLoop::step(TrainState& state, double learning_rate, StepWish wish, const Arrive&) {
  Ahead now = ahead_ ? *std::exchange(ahead_, std::nullopt) : read_ahead(state, 0);
  update_.see_read(state, now.batches);
  place_ = now.place;
  StepResult result;
  Network &generator = state.networks[kGenerator], &discriminator = state.networks[kDiscriminator];
  static const std::vector<std::string> common(kLossNames.begin(), kLossNames.end());
  const auto own = models::threedgan::generator_losses(model_.architecture().loss_weights);
  // `of` computes a replica by its batch and key; `compute` those of this worker.
  using OfBatch = std::function<Contribution(const Batch& batch, const RngKey& key)>;
  const auto update = [&](const char* prefix, size_t network, const ReplicaFunction& compute, const SideWork& side,
                          const OfBatch& of) {
    const auto& parts = network == kGenerator ? own : common;
    const auto from = [&](Contribution made, const data::SampleBatch& samples) {
      made.read = update_.read_digest(state, samples);
      return made;
    };
    const auto first = [&](size_t i, const graph::GradientReady& ready) {
      return from(compute(i, ready), now.batches[i]);
    };
    const auto again = [&](int replica) {
      const auto samples = update_.as_read(state, replica, input_.batch_of(state, replica));
      return from(of(as_batch(samples), update_.key(state, replica)), samples);
    };
    return update_.run(prefix, parts, state, network, learning_rate, first, wish, result, side, {}, again);
  };

  const auto real = [&](const Batch& batch, const RngKey& key) { return on_real(state, batch, key, {}); };
  const auto own_real = [&](size_t i, const graph::GradientReady& ready) {
    return now.real[i] ? *now.real[i] : on_real(state, as_batch(now.batches[i]), now.keys[i], ready);
  };
  // The images that the discriminator calls fake are the generator's before any update of the step.
  std::vector<std::vector<float>> fakes(now.batches.size());
  const auto fakes_of = [&](const Batch& batch, const RngKey& key) {
    return model_.sampler().run(generator.parameters, model_.fake_latents(batch, key));
  };
  const auto make_fakes = [&](size_t i) { fakes[i] = fakes_of(as_batch(now.batches[i]), now.keys[i]); };
  const auto on_fakes = [&](const Batch& batch, const std::vector<float>& made, const RngKey& key,
                            const graph::GradientReady& ready) {
    return model_.discriminator_step(discriminator.parameters, batch, made, Phase::kFakeDiscriminator,
                                     options(key, ready));
  };
  const auto fake = [&](const Batch& batch, const RngKey& key) {
    return on_fakes(batch, fakes_of(batch, key), key, {});
  };
  const auto own_fake = [&](size_t i, const graph::GradientReady& ready) {
    return on_fakes(as_batch(now.batches[i]), fakes[i], now.keys[i], ready);
  };
  if (!update("d_real/", kDiscriminator, own_real, {.tasks = fakes.size(), .run = make_fakes, .network = kGenerator},
              real) ||
      !update("d_fake/", kDiscriminator, own_fake, {}, fake)) {
    return result;
  }
  if (state.step < alone(state.epoch)) return result;

  // Half of the next step's real showers while the generator's first gradients travel, half while the second do.
  std::optional<Ahead> next;
  if (state.step + 1 < steps_per_epoch(job_, train_events())) next = read_ahead(state, 1);
  const size_t all = next ? next->batches.size() : 0, half = all / 2;
  const auto look_ahead = [&](size_t first, size_t count) {
    return SideWork{.tasks = count,
                    .run =
                        [&, first](size_t task) {
                          const size_t i = first + task;
                          next->real[i] = on_real(state, as_batch(next->batches[i]), next->keys[i], {});
                        },
                    .network = kDiscriminator};
  };
  const auto generator_update = [&](Phase phase, const SideWork& side) {
    const auto made = [&, phase](const Batch& batch, const RngKey& key, const graph::GradientReady& ready) {
      return model_.generator_step(generator.parameters, discriminator.parameters, batch, phase, options(key, ready));
    };
    const auto own_made = [&](size_t i, const graph::GradientReady& ready) {
      return made(as_batch(now.batches[i]), now.keys[i], ready);
    };
    return update(kGeneratorPrefix, kGenerator, own_made, side,
                  [&](const Batch& batch, const RngKey& key) { return made(batch, key, {}); });
  };
  if (!generator_update(Phase::kFirstGenerator, look_ahead(0, half))) return result;
  const Measures first = result.losses;
  if (!generator_update(Phase::kSecondGenerator, look_ahead(half, all - half))) return result;
  for (const std::string& part : own) {
    double& loss = result.losses[kGeneratorPrefix + part];
    loss = 0.5 * (loss + first.at(kGeneratorPrefix + part));
  }
  ahead_ = std::move(next);
  return result;
}

// The generated showers that are made beside "d_real" are not counted: a plan may be better than it says.
std::vector<UpdateOutline> AdversarialLoop::updates(const TrainState& state, int replicas) const {
  const size_t own = models::threedgan::generator_losses(model_.architecture().loss_weights).size();
  const auto update = [&](const char* phase, size_t network, bool leaves_early) {
    const size_t losses = network == kGenerator ? own : kLossNames.size();
    return update_.outline(phase, state, network, losses, leaves_early);
  };
  // The first one's gradient was computed in the step before.
  std::vector<UpdateOutline> updates{update("d_real", kDiscriminator, false), update("d_fake", kDiscriminator, true),
                                     update("g", kGenerator, true), update("g", kGenerator, true)};
  const int half = replicas / 2;
  updates[2].beside = static_cast<double>(half) / replicas;
  updates[3].beside = static_cast<double>(replicas - half) / replicas;
  return updates;
}

TestResult AdversarialLoop::test(const TrainState& state, Figures figures) {
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  Evaluation evaluation(job_, model_, update_);
  auto [result, projections] =
      evaluation.run(state.networks[kGenerator].parameters, state.networks[kDiscriminator].parameters, state.epoch,
                     *input_.test(), figures);
  projections_ = std::move(projections);
  if (alone(state.epoch) == steps_per_epoch(job_, train_events()))
    std::erase_if(result.losses, [](const auto& loss) { return loss.first.starts_with(kGeneratorPrefix); });
  return result;
}

}  // namespace linac::train
