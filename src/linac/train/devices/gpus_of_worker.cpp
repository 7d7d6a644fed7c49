#include "linac/train/devices/gpus_of_worker.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"

namespace linac::devices {

std::vector<int> gpus_of_worker(int visible, int local_rank, int local_world_size, int wanted) {
  LINAC_CHECK(visible >= 1 && local_rank >= 0 && local_world_size >= 1 && wanted >= 0);
  if (wanted > visible) {
    throw user_error(fmt::format(
        "[devices] distribution.devices_per_worker = {}, but {} can be used here (CUDA_VISIBLE_DEVICES says which); "
        "lower it, or leave it out: a worker then takes its share",
        wanted, visible == 1 ? "1 GPU" : fmt::format("{} GPUs", visible)));
  }
  int first = local_rank, count = 1;
  if (wanted > 0) {
    first = local_rank * wanted;
    count = wanted;
  } else if (local_rank < local_world_size && local_world_size < visible) {
    first = local_rank * visible / local_world_size;
    count = (local_rank + 1) * visible / local_world_size - first;
  }
  std::vector<int> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back((first + i) % visible);
  return gpus;
}

}  // namespace linac::devices
