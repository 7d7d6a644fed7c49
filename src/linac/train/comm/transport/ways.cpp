#include "linac/train/comm/transport/ways.h"

#include "linac/base/base/secure_random.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/transport/control_links.h"

namespace linac::comm {
namespace {

constexpr size_t kDigits = 16;

}  // namespace

Ways::Ways(std::shared_ptr<const relay::Relays> relays, std::string group)
    : relays_(std::move(relays)), group_(group.empty() ? "alone-" + random_hex(kDigits) : std::move(group)) {}

std::unique_ptr<relay::Listening> Ways::listen(const std::string& address) const {
  return std::make_unique<relay::Listening>(relays_, address);
}

bool is_by_relay(const Ways* ways, const std::string& address) {
  return ways != nullptr && ways->by_relay(address);
}

SecureLink begin_link(const std::string& address, const std::shared_ptr<const LinkContext>& context, const Ways* ways,
                      bool& refused) {
  refused = false;
  if (is_by_relay(ways, address)) {
    relay::Relays::Begun begun = ways->relays().call(address);
    if (!begun.socket) return {};
    return {std::move(begun.socket), context, SecureLink::End::kCaller, std::move(begun.approach)};
  }
  Descriptor socket = begin_connecting(without_group(address), refused);
  if (refused) return {};
  return {std::move(socket), context, SecureLink::End::kCaller};
}

}  // namespace linac::comm
