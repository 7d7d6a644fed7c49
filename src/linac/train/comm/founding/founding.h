#pragma once
// The first meeting of a run's workers: at the store that MASTER_ADDR and MASTER_PORT name (c10d's TCPStore, hosted by
// rank 0 or by the launcher) each leaves its address and reads those of the others. Afterwards nobody needs the store.
// Anybody may read it and write to it, so what is left there is sealed with the run's key.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "linac/train/comm/founding/store_host.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/meeting/run_key.h"
#include "linac/train/comm/membership/view.h"

namespace linac::comm {

class Founding {
 public:
  /// Rank 0 hosts the store unless the launcher does. `find_key` is called by rank 0 before the others call it: it may
  /// leave the key where they find it. Errors as for make_group().
  Founding(const Rendezvous& rendezvous, std::chrono::milliseconds timeout, const std::function<RunKey()>& find_key);
  ~Founding();

  /// The run's name, drawn by rank 0. No secret.
  const std::string& run() const { return run_; }
  const RunKey& key() const { return *key_; }
  /// Returns once all ranks have called it: the first view, its ranks those of the rendezvous.
  View meet(const Member& self);

 private:
  struct Store;
  void wait_for(const std::string& place);
  void leave(const std::string& place, const std::string& text);
  std::string find(const std::string& place);

  const Rendezvous meet_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<Store> store_;
  std::optional<RunKey> key_;
  std::string run_;
};

/// A new name for a run.
std::string draw_run();

/// The numeric address of this machine at which those reach it that are to be found at `other`.
std::string own_address(const Rendezvous& rendezvous, const std::string& other);

}  // namespace linac::comm
