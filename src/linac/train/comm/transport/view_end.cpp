#include "linac/train/comm/transport/view_end.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "linac/base/base/error.h"

namespace linac::comm {

ViewEnd::ViewEnd() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw environment_error(fmt::format("[comm] no event ({}); raise ulimit -n", std::strerror(errno)));
}

void ViewEnd::come() noexcept {
  has_come_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event_.get(), &one, sizeof one);
}

}  // namespace linac::comm
