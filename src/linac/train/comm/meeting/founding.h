#pragma once
// The first meeting of a run's workers: at the store that MASTER_ADDR and MASTER_PORT name (key_store.h, hosted by rank
// 0 or by the launcher) each leaves its address and reads those of the others. Afterwards nobody needs the store.
// Anybody may read it and write to it, so what is left there is sealed with the run's key.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "linac/train/comm/meeting/key_store.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/meeting/run_key.h"
#include "linac/train/comm/membership/view.h"

namespace linac::comm {

class Founding {
 public:
  /// Rank 0 hosts the store unless the launcher does. `find_key` is called by rank 0 before the others call it: it may
  /// leave the key where they find it; `name_run` by rank 0 alone. Errors as for make_group(). Whoever waits says after
  /// ten seconds for whom, and gives up with kPreempted when stop_signal() says so.
  Founding(const Rendezvous& rendezvous, const Stores& stores, std::chrono::milliseconds timeout,
           const std::function<RunKey()>& find_key, const std::function<std::string()>& name_run);

  /// The run's name, drawn by rank 0. No secret.
  const std::string& run() const { return run_; }
  const RunKey& key() const { return *key_; }
  /// Returns once all ranks have called it: the first view, its ranks those of the rendezvous.
  View meet(const Member& self);

 private:
  std::string key_of(const std::string& place) const;
  void connect(const Stores& stores);
  std::string missing_ranks();
  void wait_for(const std::string& place);
  using Who = std::function<std::string()>;  // is missing, for messages
  std::optional<std::string> try_for_long(const std::function<void(std::chrono::milliseconds limit)>& attempt,
                                          const Who& who);
  void look_up(const Who& who);
  void leave(const std::string& place, const std::string& text);
  std::string find(const std::string& place);

  const Rendezvous meet_;
  const std::chrono::milliseconds timeout_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;  // who is missing
  const std::string prefix_;
  std::unique_ptr<HostedStore> hosted_;  // by rank 0, unless the launcher does
  std::unique_ptr<KeyStore> keys_;
  std::optional<RunKey> key_;
  std::string run_;
};

/// Serves a store at which workers may meet: at "127.0.0.1" (this machine only), "::1" or an any_address(). Errors as
/// for Stores::host().
std::unique_ptr<HostedStore> host_store(const Stores& stores, const std::string& addr, int port = 0);
/// Whether the workers that met there, of a launcher's first attempt, need it no more. It may then be closed.
bool founded(HostedStore& store);

/// Tells the launcher that serves this worker's store, where the workers met elsewhere. A launcher that does not answer
/// needs no word.
void tell_founded(const Stores& stores, const Rendezvous& rendezvous, std::chrono::milliseconds limit);

/// The numeric address of this machine at which those reach it that are to be found at `other`.
std::string own_address(const Rendezvous& rendezvous, const std::string& other);

}  // namespace linac::comm
