#include "linac/train/comm/transport/listeners.h"

#include <poll.h>

#include <algorithm>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/transport/control_links.h"

namespace linac::comm {

bool somebody_listens(std::span<const std::string> join_addresses, std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const auto last = Clock::now() + limit;
  std::vector<Descriptor> sockets;
  std::vector<pollfd> polled;
  for (const std::string& address : join_addresses.first(std::min(join_addresses.size(), kListenersMax))) {
    bool refused = false;
    sockets.push_back(begin_connecting(without_group(address.substr(address.find('@') + 1)), refused));
    if (!refused) polled.push_back({sockets.back().get(), POLLOUT, 0});
  }
  while (!polled.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(polled.data(), polled.size(), static_cast<int>(left)) <= 0) continue;
    for (const pollfd& one : polled) {
      // A socket without a way to its address hangs up, and remembers no error.
      const bool failed = (one.revents & (POLLERR | POLLHUP)) != 0;
      if (one.revents != 0 && !failed && connection_error(one.fd) == 0) return true;
    }
    std::erase_if(polled, [](const pollfd& one) { return one.revents != 0; });
  }
  return false;
}

}  // namespace linac::comm
