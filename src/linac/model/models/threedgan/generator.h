#pragma once
// A generator network by itself, of any origin: what `linac generate` runs. Thread-safe.

#include <memory>
#include <span>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/foreign_model.h"
#include "linac/model/models/numerics.h"

namespace linac::models::threedgan {

class Generator {
 public:
  /// One input vector (energy / 100 GeV, angle in rad, normal numbers), one output image (x, y, z, 1).
  explicit Generator(const graph::Graph& graph, const Numerics& numerics = {});
  explicit Generator(const ForeignModel& model);
  Generator(Generator&&) noexcept;
  ~Generator();

  /// (Y, angle, noise) of each event, the noise from exactly this key: [n][latent].
  std::vector<float> latents(std::span<const float> energy, std::span<const float> angle, const RngKey& key) const;
  /// Inference mode: image^power, [n][x][y][z]. `parameters` are those of the graph.
  std::vector<float> run(const graph::Parameters& parameters, std::span<const float> latents) const;

 private:
  struct Network;
  std::unique_ptr<const Network> network_;
};

}  // namespace linac::models::threedgan
