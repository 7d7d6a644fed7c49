#include "linac/io/data/showers.h"

#include <fmt/format.h>

#include <cmath>

namespace linac::data {

bool is_plausible(const EventShape& shape) {
  for (const int64_t axis : {shape.x, shape.y, shape.z})
    if (axis <= 0 || axis > kCellsMax) return false;
  return shape.x <= kCellsMax / shape.y && shape.x * shape.y <= kCellsMax / shape.z;
}

std::string to_string(const EventShape& shape) {
  return fmt::format("{}x{}x{}", shape.x, shape.y, shape.z);
}

void ShowerBlock::resize(int64_t events, const EventShape& new_shape, Units new_units) {
  units = new_units;
  shape = new_shape;
  const auto n = static_cast<size_t>(events);
  image.resize(n * static_cast<size_t>(shape.cells()));
  energy.resize(n);
  angle.resize(n);
  ecal.resize(units == Units::kSamples ? n : 0);
}

void SampleBatch::resize(int64_t new_events, const EventShape& new_shape, size_t of_numbers) {
  events = new_events;
  shape = new_shape;
  const auto n = static_cast<size_t>(events);
  image.resize(n * static_cast<size_t>(shape.cells()));
  energy.resize(n);
  angle.resize(n);
  ecal.resize(n);
  numbers.resize(n * of_numbers);
}

double to_sample(const Preprocessing& preprocessing, float* image, int64_t cells) {
  const auto scale = static_cast<float>(preprocessing.scale);
  const auto threshold = static_cast<float>(preprocessing.threshold);
  const auto power = static_cast<float>(preprocessing.power);
  double sum = 0;
  for (int64_t i = 0; i < cells; ++i) {
    const float cell = image[i] * scale;
    if (cell < threshold || cell == 0) {
      image[i] = 0;
      continue;
    }
    sum += cell;
    image[i] = std::pow(cell, power);
  }
  return sum;
}

double scaled_sum(const Preprocessing& preprocessing, const float* image, int64_t cells) {
  const auto scale = static_cast<float>(preprocessing.scale);
  const auto threshold = static_cast<float>(preprocessing.threshold);
  double sum = 0;
  for (int64_t i = 0; i < cells; ++i) {
    const float cell = image[i] * scale;
    if (!(cell < threshold)) sum += cell;
  }
  return sum;
}

double sum_before_power(const Preprocessing& preprocessing, const float* image, int64_t cells) {
  const auto inverse = static_cast<float>(1 / preprocessing.power);
  double sum = 0;
  for (int64_t i = 0; i < cells; ++i) {
    if (image[i] != 0) sum += std::pow(image[i], inverse);
  }
  return sum;
}

void convert_units(const Preprocessing& preprocessing, ShowerBlock& block, Units units) {
  if (block.units == units) return;
  const int64_t cells = block.shape.cells();
  const auto unit_gev = static_cast<float>(preprocessing.energy_unit_gev);
  if (units == Units::kSamples) {
    block.ecal.resize(block.energy.size());
    for (int64_t event = 0; event < block.events(); ++event) {
      const auto i = static_cast<size_t>(event);
      block.ecal[i] = static_cast<float>(to_sample(preprocessing, block.image.data() + event * cells, cells));
      block.energy[i] /= unit_gev;
    }
  } else {
    const auto inverse = static_cast<float>(1 / preprocessing.power);
    const auto scale = static_cast<float>(preprocessing.scale);
    for (float& cell : block.image) {
      if (cell != 0) cell = std::pow(cell, inverse) / scale;
    }
    for (float& energy : block.energy) energy *= unit_gev;
    block.ecal.clear();
  }
  block.units = units;
}

}  // namespace linac::data
