#include "linac/control/sites/port.h"

#include "linac/base/base/fnv1a.h"

namespace linac::sites {

int port_of(const std::string& label) {
  constexpr uint32_t kFirst = 20000, kCount = 10000;
  return static_cast<int>(kFirst + fnv1a_32(label) % kCount);
}

}  // namespace linac::sites
