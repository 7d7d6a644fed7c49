#include "linac/base/base/plural.h"

#include <fmt/format.h>

namespace linac {

std::string plural(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace linac
