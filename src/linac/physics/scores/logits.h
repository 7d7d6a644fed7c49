#pragma once
// Probabilities of what an output without a last activation gives. Pure, thread-safe.

#include <span>

#include "linac/physics/scores/task.h"

namespace linac::scores {

/// In place, of values [rows][width]: the softmax of each row of classes, the sigmoid of one column or of labels.
void to_probabilities(std::span<float> logits, size_t width, Task task);

}  // namespace linac::scores
