#pragma once
// The two networks of the 3DGAN as graphs (openlab: "Accelerating GAN training using highly parallel hardware on public
// cloud", EPJ Web Conf. 251 (2021) 02073). Pure functions.

#include <optional>

#include "linac/base/job/model_kinds.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/foreign_model.h"

namespace linac::models::threedgan {

/// Cells of the image the generator makes: its layers fix them.
inline constexpr int64_t kCellsX = 51, kCellsY = 51, kCellsZ = 25;

/// Input "latent": (energy / 100 GeV, angle in rad, normal numbers), `latent` values in all. Output: image^power, (51,
/// 51, 25, 1). Of the settings those of the job's check hold here and below; their defaults are the published networks.
graph::Graph generator(const job::ThreeDGanSettings& settings);

/// Input "image": image^power, (51, 51, 25, 1). Outputs, one number each: "generation" (probability that it is a real
/// shower), "auxiliary" (energy / 100 GeV), "angle" (rad, analytic), "ecal" (sum of the cells, analytic, with the power
/// undone).
graph::Graph discriminator(const job::ThreeDGanSettings& settings);

/// A discriminator with the two analytic outputs behind its own first two, of the same image.
graph::Graph with_analytic_heads(graph::Graph discriminator, double power);

/// What an adversarial training is about: networks like the two above, for images of any size, as graphs or as somebody
/// else's code.
struct Architecture {
  graph::Graph generator;      // of foreign code: what describes it (ForeignModel::graph)
  graph::Graph discriminator;  // with the analytic heads, but for foreign code
  double power = 1;
  job::GanLossWeights loss_weights;
  std::optional<ForeignModel> foreign_generator, foreign_discriminator;
  /// Before the first step; drawn from the seed where there are none.
  std::optional<graph::Parameters> generator_weights, discriminator_weights;

  const graph::Shape& image() const { return generator.nodes[static_cast<size_t>(generator.outputs[0])].output; }
  int64_t latent() const { return generator.nodes[static_cast<size_t>(generator.inputs[0])].output[0]; }
};
Architecture own_architecture(const job::ThreeDGanSettings& settings);

/// User error, naming the network, if they do not go together: one vector of at least 3 numbers in and one image (x, y,
/// z, 1) out; that image in, and a probability and an energy out.
void need_architecture(const Architecture& architecture);

}  // namespace linac::models::threedgan
