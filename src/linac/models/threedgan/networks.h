#pragma once
// The two networks of the 3DGAN as graphs (openlab: "Accelerating GAN training using highly parallel hardware on public
// cloud", EPJ Web Conf. 251 (2021) 02073). Pure functions.

#include "linac/graph/graph.h"

namespace linac::models::threedgan {

/// Cells of the image the generator makes: its layers fix them.
inline constexpr int64_t kCellsX = 51, kCellsY = 51, kCellsZ = 25;

/// Input "latent": (energy / 100 GeV, angle in rad, normal numbers), `latent` values in all. Output: image^power, (51,
/// 51, 25, 1).
graph::Graph generator(int64_t latent);

/// Input "image": image^power, (51, 51, 25, 1). Outputs, one number each: "generation" (probability that it is a real
/// shower), "auxiliary" (energy / 100 GeV), "angle" (rad, analytic), "ecal" (sum of the cells, analytic, with the power
/// undone).
graph::Graph discriminator(double power);

}  // namespace linac::models::threedgan
