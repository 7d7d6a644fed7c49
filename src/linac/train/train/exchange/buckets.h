#pragma once
// The message of an update, cut into buckets that travel while the backward pass goes on. The cut depends on the
// network alone, so all workers make the same one. Thread-safe.

#include <cstddef>
#include <vector>

#include "linac/model/graph/parameters.h"

namespace linac::train {

/// [begin, begin + size) of the message.
struct Bucket {
  size_t begin, size;
};

/// Whole weights, the last ones first, as a backward pass comes upon them; then the `tail` floats behind the gradient,
/// which are known last.
std::vector<Bucket> make_buckets(const graph::Layout& gradient, size_t tail);

}  // namespace linac::train
