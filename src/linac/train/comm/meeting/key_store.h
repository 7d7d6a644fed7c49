#pragma once
// The meeting place of a run's workers: a small server of texts by their keys, which one process serves and all reach.
// Founding knows no more of it than this; which store it is, its caller says (c10d has LibTorch's). Failures that
// name no error of their own are exceptions whose text is the reason, in one line.

#include <chrono>
#include <memory>
#include <string>

namespace linac::comm {

/// The store as one worker sees it. One thread at a time.
class KeyStore {
 public:
  virtual ~KeyStore() = default;
  /// Nobody answers: others see the text soon, and for certain once this worker has had an answer to a later call.
  virtual void set(const std::string& key, const std::string& text) = 0;
  /// Of a key that is there, or will be soon: within a minute, else it throws.
  virtual std::string get(const std::string& key) = 0;
  /// Returns once the key is there; throws if it is not within `limit`.
  virtual void wait(const std::string& key, std::chrono::milliseconds limit) = 0;
  virtual bool check(const std::string& key) = 0;
};

/// A store in this process, served by its own thread until the object is destroyed. Thread-safe.
class HostedStore {
 public:
  virtual ~HostedStore() = default;
  /// Where workers find it (MASTER_PORT).
  virtual int port() const = 0;
  virtual bool check(const std::string& key) = 0;
};

/// A kind of store. Thread-safe, and lives as long as the process.
class Stores {
 public:
  virtual ~Stores() = default;
  /// Serves at `addr`, a numeric address of this machine; `port` 0 takes a free one. Environment error when the address
  /// cannot be bound.
  virtual std::unique_ptr<HostedStore> host(const std::string& addr, int port) const = 0;
  /// The store that is served there, or will be within `limit`.
  virtual std::unique_ptr<KeyStore> reach(const std::string& addr, int port, std::chrono::milliseconds limit) const = 0;
};

}  // namespace linac::comm
