#include "linac/model/nn/part_numbers.h"

#include <cstring>

namespace linac::nn {

std::vector<std::vector<double>> doubles_of_parts(graph::PartLink& link, const std::vector<double>& mine) {
  const auto parts = static_cast<size_t>(link.parts());
  const size_t floats_each = mine.size() * sizeof(double) / sizeof(float);
  std::vector<float> packed(floats_each);
  std::memcpy(packed.data(), mine.data(), mine.size() * sizeof(double));
  std::vector<std::vector<float>> came(parts, std::vector<float>(floats_each));
  std::vector<std::span<const float>> to(parts, packed);
  const std::vector<std::span<float>> from(came.begin(), came.end());
  link.exchange(to, from);
  std::vector<std::vector<double>> all(parts, mine);
  for (size_t part = 0; part < parts; ++part) {
    if (static_cast<int>(part) != link.part())
      std::memcpy(all[part].data(), came[part].data(), mine.size() * sizeof(double));
  }
  return all;
}

}  // namespace linac::nn
