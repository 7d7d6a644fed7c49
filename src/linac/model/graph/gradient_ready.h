#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace linac::graph {

/// Told of a weight's gradient as soon as it is final, while others are still computed: where the weight begins in the
/// trainable buffer, and the values, which are valid during the call. They lie in the host's memory, or in that of the
/// GPU where the thread's place (place.h) says so. Called from the computing thread; may throw to break the computation
/// off.
using GradientReady = std::function<void(int64_t offset, std::span<const float> values)>;

}  // namespace linac::graph
