#include "linac/control/launch/demand.h"

#include <fmt/format.h>

namespace linac::launch {

std::string why_never(const Demand& wanted, const Demand& all) {
  if (wanted.cores > all.cores) return fmt::format("{} cores are wanted, this service has {}", wanted.cores, all.cores);
  if (wanted.memory_mb > all.memory_mb)
    return fmt::format("{} MB of memory are wanted, this service has {}", wanted.memory_mb, all.memory_mb);
  if (wanted.gpus > all.gpus) return fmt::format("{} GPUs are wanted, this service has {}", wanted.gpus, all.gpus);
  return "";
}

}  // namespace linac::launch
