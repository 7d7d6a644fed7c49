#include "linac/physics/scores/logits.h"

#include <algorithm>
#include <cmath>

namespace linac::scores {
namespace {

void softmax(std::span<float> row) {
  const double largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float value : row) sum += std::exp(value - largest);
  for (float& value : row) value = static_cast<float>(std::exp(value - largest) / sum);
}

}  // namespace

void to_probabilities(std::span<float> logits, size_t width, Task task) {
  if (task == Task::kClasses && width > 1) {
    for (size_t first = 0; first < logits.size(); first += width) softmax(logits.subspan(first, width));
    return;
  }
  for (float& value : logits) value = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(value))));
}

}  // namespace linac::scores
