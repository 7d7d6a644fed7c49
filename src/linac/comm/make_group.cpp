#include "linac/base/error.h"
#include "linac/comm/group.h"
#include "linac/comm/group_gloo.h"

namespace linac::comm {
namespace {

class LoneGroup : public Group {
 public:
  LoneGroup() : Group(0, 1) {}

 private:
  // With one rank there is no peer to name.
  void send_bytes(std::span<const std::byte>, int, int) override { LINAC_CHECK(false); }
  void receive_bytes(std::span<std::byte>, int, int) override { LINAC_CHECK(false); }
  void close() noexcept override {}
};

}  // namespace

std::unique_ptr<Group> make_group(const Rendezvous& rendezvous, std::chrono::milliseconds timeout) {
  LINAC_CHECK(rendezvous.rank >= 0 && rendezvous.rank < rendezvous.world_size && timeout.count() > 0);
  if (rendezvous.world_size == 1) return std::make_unique<LoneGroup>();
  return make_gloo_group(rendezvous, timeout);
}

}  // namespace linac::comm
