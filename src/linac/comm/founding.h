#pragma once
// The first meeting of a run's workers: at the store that MASTER_ADDR and MASTER_PORT name (c10d's TCPStore, hosted by
// rank 0 or by the launcher) each leaves its address and reads those of the others. Afterwards nobody needs the store.

#include <chrono>
#include <memory>
#include <string>

#include "linac/comm/rendezvous.h"
#include "linac/comm/store_host.h"
#include "linac/comm/view.h"

namespace linac::comm {

class Founding {
 public:
  /// Rank 0 hosts the store unless the launcher does. Errors as for make_group().
  Founding(const Rendezvous& rendezvous, std::chrono::milliseconds timeout);
  ~Founding();

  /// The run's secret, drawn by rank 0.
  const std::string& run() const { return run_; }
  /// Returns once all ranks have called it: the first view, its ranks those of the rendezvous.
  View meet(const Member& self);

 private:
  struct Store;
  void wait_for(const std::string& key);

  const Rendezvous meet_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<Store> store_;
  std::string run_;
};

/// A new secret for a run.
std::string draw_run();

/// The numeric address of this machine at which those reach it that are to be found at `other`.
std::string own_address(const Rendezvous& rendezvous, const std::string& other);

}  // namespace linac::comm
