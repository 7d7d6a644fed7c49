#pragma once
// What every worker has computed chunk by chunk, brought to rank 0. For figures that need all values at once, as the
// exact area under a ROC curve needs the order of all scores: no summary of a fixed size gives its bits, so each value
// has to travel. It travels once, and no message is larger than kMessageFloats, however many values there are.

#include <cstdint>
#include <functional>
#include <vector>

#include "linac/train/comm/group.h"

namespace linac::train {

/// Floats of a message at most, unless a single chunk has more: 1 MiB.
constexpr size_t kMessageFloats = 256 << 10;

/// Collective. Chunk c is computed by who owns replica c modulo `replicas`, the first of its `parts`; `size` says its
/// floats, alike on all workers. Rank 0 has all of `chunks` in the end; of the others those that they have sent are
/// empty then.
void collect_chunks(comm::Group& group, int64_t replicas, int parts, std::vector<std::vector<float>>& chunks,
                    const std::function<size_t(int64_t chunk)>& size);

}  // namespace linac::train
