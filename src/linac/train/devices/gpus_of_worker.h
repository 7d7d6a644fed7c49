#pragma once
// Which GPUs of its host a worker takes. Thread-safe.

#include <vector>

namespace linac::devices {

/// Their numbers among `visible` ones, which are at least 1. Worker `local_rank` of the `local_world_size` on its host
/// takes `wanted` of them, counted round; 0: its share, so a lone worker takes all. One that is not counted among the
/// workers of its host (it has joined by hand) takes the one of its number. User error if it wants more than there are.
std::vector<int> gpus_of_worker(int visible, int local_rank, int local_world_size, int wanted);

}  // namespace linac::devices
