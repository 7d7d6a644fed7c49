#include "linac/physics/observables.h"

#include <numeric>

#include "linac/base/error.h"

namespace linac::physics {

std::vector<double> sums(std::span<const float> images, int64_t cells) {
  LINAC_CHECK(cells > 0 && images.size() % static_cast<size_t>(cells) == 0);
  std::vector<double> result;
  for (size_t first = 0; first < images.size(); first += static_cast<size_t>(cells)) {
    const auto image = images.subspan(first, static_cast<size_t>(cells));
    result.push_back(std::accumulate(image.begin(), image.end(), 0.0));
  }
  return result;
}

std::vector<double> responses(std::span<const float> images_gev, int64_t cells, std::span<const float> energies_gev) {
  std::vector<double> result = sums(images_gev, cells);
  LINAC_CHECK(result.size() == energies_gev.size());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = energies_gev[i] > 0 ? result[i] / static_cast<double>(energies_gev[i]) : 0;
  return result;
}

}  // namespace linac::physics
