#pragma once
// The store at which workers meet that reach each other by a relay alone: rank 0 serves it to whoever calls, over links
// with the run's key, so the relay reads nothing of it either. It ends with rank 0's founding, and none is left for a
// later start of the run. A relay that dies meanwhile is waited for.

#include <memory>

#include "linac/io/relay/relays.h"
#include "linac/train/comm/meeting/key_store.h"
#include "linac/train/comm/transport/secure_link.h"

namespace linac::comm {

class RelayedStores : public Stores {
 public:
  /// `context`: of links between those who have the run's key, and no name for the run yet.
  RelayedStores(std::shared_ptr<const relay::Relays> relays, std::shared_ptr<const LinkContext> context);

  /// Address and port are not looked at.
  std::unique_ptr<HostedStore> host(const std::string& addr, int port) const override;
  std::unique_ptr<KeyStore> reach(const std::string& addr, int port, std::chrono::milliseconds limit) const override;

 private:
  const std::shared_ptr<const relay::Relays> relays_;
  const std::shared_ptr<const LinkContext> context_;
};

}  // namespace linac::comm
