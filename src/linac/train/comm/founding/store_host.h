#pragma once
// The meeting place of a group: a small key-value server (c10d's TCPStore) in this process, served by its own thread
// until the object is destroyed. Thread-safe.

#include <memory>
#include <string>

namespace linac::comm {

class HostedStore {
 public:
  virtual ~HostedStore() = default;
  /// Where workers find it (MASTER_PORT).
  virtual int port() const = 0;
  /// Whether the workers that met here, of a launcher's first attempt, need it no more. It may then be closed.
  virtual bool founded() = 0;
};

/// Serves at `addr`: "127.0.0.1" (this machine only) or "0.0.0.0"; `port` 0 takes a free one. Environment error when
/// the address cannot be bound.
std::unique_ptr<HostedStore> host_store(const std::string& addr, int port = 0);

}  // namespace linac::comm
