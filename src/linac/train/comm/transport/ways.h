#pragma once
// How a worker reaches the others of its run: those of its own group directly, those of other groups by a relay, to
// which all have outgoing connections alone (io/relay). The address of a worker that has a relay is
// "GROUP/10.0.0.3:41233": the name by which the relay knows it, and behind the group where its own group finds it.
// Immutable, thread-safe.

#include <memory>
#include <string>

#include "linac/io/relay/listening.h"
#include "linac/io/relay/relays.h"
#include "linac/train/comm/transport/secure_link.h"

namespace linac::comm {

class Ways {
 public:
  /// `group`: of this worker; empty: it is alone in one.
  Ways(std::shared_ptr<const relay::Relays> relays, std::string group);

  std::string address_of(const std::string& direct) const { return group_ + "/" + direct; }
  bool by_relay(const std::string& address) const {
    return address.find('/') != std::string::npos && !address.starts_with(group_ + "/");
  }
  std::unique_ptr<relay::Listening> listen(const std::string& address) const;
  const relay::Relays& relays() const { return *relays_; }

 private:
  const std::shared_ptr<const relay::Relays> relays_;
  const std::string group_;
};

/// Whether the way to this address is by a relay. `ways` may be null: none is.
bool is_by_relay(const Ways* ways, const std::string& address);

/// A link to that address that is being made. None, with `refused`: nobody listens there, which may be known at once;
/// none without it: there is no way to the relay now. Environment error as begin_connecting().
SecureLink begin_link(const std::string& address, const std::shared_ptr<const LinkContext>& context, const Ways* ways,
                      bool& refused);

}  // namespace linac::comm
