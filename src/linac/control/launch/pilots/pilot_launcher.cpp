#include "linac/control/launch/pilots/pilot_launcher.h"

namespace linac::launch {

Capacity PilotLauncher::capacity() {
  constexpr int64_t kCoresMax = 1 << 20, kMemoryMbMax = int64_t{1} << 40, kGpusMax = 1 << 20;
  return {{kCoresMax, kMemoryMbMax, kGpusMax}, {}};
}

}  // namespace linac::launch
