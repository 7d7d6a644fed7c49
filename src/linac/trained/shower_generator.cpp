#include "linac/trained/shower_generator.h"

#include <algorithm>
#include <cmath>

#include "linac/base/error.h"
#include "linac/data/showers.h"

namespace linac::trained {

std::vector<float> to_gev(const spec::Job& job, std::span<const float> images) {
  std::vector<float> gev(images.size());
  const auto inverse_power = static_cast<float>(1 / job.model.as<spec::ThreeDGanSettings>().power),
             inverse_scale = static_cast<float>(1 / job.data.scale);
  std::transform(images.begin(), images.end(), gev.begin(),
                 [&](float cell) { return cell > 0 ? std::pow(cell, inverse_power) * inverse_scale : 0.0F; });
  return gev;
}

ShowerGenerator::ShowerGenerator(const std::filesystem::path& run_or_file)
    : model_(load_generator(run_or_file)),
      generator_(model_.foreign ? models::threedgan::Generator(*model_.foreign)
                                : models::threedgan::Generator(model_.graph)) {}

EventShape ShowerGenerator::shape() const {
  const graph::Shape& image = model_.graph.nodes[static_cast<size_t>(model_.graph.outputs[0])].output;
  return {image[0], image[1], image[2]};
}

std::vector<float> ShowerGenerator::make(std::span<const float> energy_gev, std::span<const float> theta, uint64_t seed,
                                         int64_t chunk) const {
  LINAC_CHECK(energy_gev.size() == theta.size() && energy_gev.size() <= kChunk);
  const double energy_unit_gev = data::Preprocessing{}.energy_unit_gev;
  std::vector<float> energy(energy_gev.begin(), energy_gev.end());
  for (float& value : energy) value = static_cast<float>(value / energy_unit_gev);
  const RngKey key{.seed = seed, .stream = Stream::kSample, .lane = 2, .step = static_cast<uint32_t>(chunk)};
  return to_gev(model_.job, generator_.run(model_.parameters, generator_.latents(energy, theta, key)));
}

}  // namespace linac::trained
