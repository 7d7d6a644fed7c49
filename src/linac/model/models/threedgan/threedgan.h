#pragma once
// One replica's share of an adversarial step. Every function is pure in (weights, batch, key): no hidden state, no
// knowledge of workers or of other replicas; it may run in several threads at once on the same Networks. Plain floats
// at the border, LibTorch inside.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/graph/gradient_ready.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/contribution.h"
#include "linac/model/models/numerics.h"
#include "linac/model/models/threedgan/generator.h"
#include "linac/model/models/threedgan/loss_parts.h"
#include "linac/model/models/threedgan/networks.h"

namespace linac::models::threedgan {

/// The events of one replica: image^power [n][x][y][z], and a value an event.
struct Batch {
  std::span<const float> image, energy, angle, ecal;
  size_t size() const { return energy.size(); }
};

/// The random streams of a step, by phase: never renumber (numerics contract).
enum class Phase : uint32_t {
  kRealDiscriminator = 0,
  kFakeDiscriminator = 1,
  kFirstGenerator = 2,
  kSecondGenerator = 3,
  kTest = 4
};

class ThreeDGan {
 public:
  explicit ThreeDGan(const job::ThreeDGanSettings& settings, const Numerics& numerics = {});
  /// Errors as need_architecture().
  explicit ThreeDGan(Architecture architecture, const Numerics& numerics = {});
  ~ThreeDGan();

  const graph::Graph& generator() const;
  const graph::Graph& discriminator() const;
  const Architecture& architecture() const;
  graph::Parameters initial_generator(uint64_t seed) const;
  graph::Parameters initial_discriminator(uint64_t seed) const;

  /// What is computed, after the passes: text for people, a line a layer or stage (`linac check --explain`).
  std::string explain() const;

  /// The generator alone, in inference mode.
  const Generator& sampler() const;
  /// Its inputs (energy / 100 GeV, angle, noise) for the images shown as fakes in a step, and in a test: stream and
  /// lane of `key` are filled here.
  std::vector<float> fake_latents(const Batch& batch, const RngKey& key) const;
  std::vector<float> test_latents(const Batch& batch, const RngKey& key) const;

  /// Labels, each flipped with probability `flip` by the numbers of exactly this key.
  static std::vector<float> labels(size_t n, float label, double flip, const RngKey& key);

  struct StepOptions {
    RngKey key;               // seed, epoch, step, replica; stream and lane are filled here
    double event_weight = 1;  // 1 / global batch
    double flip = 0;
    graph::GradientReady ready = {};  // may be empty
  };
  /// Discriminator update on real showers (kRealDiscriminator, label 1) or on `images` made by the generator
  /// (kFakeDiscriminator, label 0).
  Contribution discriminator_step(const graph::Parameters& discriminator, const Batch& batch,
                                  std::span<const float> images, Phase phase, const StepOptions& options) const;
  /// Generator update: new noise through both networks in training mode, label 1.
  Contribution generator_step(const graph::Parameters& generator, const graph::Parameters& discriminator,
                              const Batch& batch, Phase phase, const StepOptions& options) const;
  /// Losses of the discriminator in inference mode; no gradient.
  std::vector<float> test_losses(const graph::Parameters& discriminator, const Batch& batch,
                                 std::span<const float> images, float label, double event_weight) const;

  /// The discriminator's outputs in inference mode, in its order, one value an event.
  std::vector<std::vector<float>> heads(const graph::Parameters& discriminator, std::span<const float> images) const;

  /// Everything a comparison with another implementation needs (tests): outputs of the discriminator and dropout
  /// multipliers.
  struct Trace {
    std::vector<float> label, latents, image;
    std::vector<std::vector<float>> outputs;
    std::vector<std::vector<float>> dropout_masks;
  };
  /// The next steps of this object on this thread record themselves here; nullptr ends it.
  static void record(Trace* trace);

 private:
  struct Networks;
  std::unique_ptr<const Networks> networks_;
};

}  // namespace linac::models::threedgan
