#pragma once
// A connection between two processes of a run that others can neither read nor alter, nor pretend to have: TLS 1.3
// (RFC 8446) with a pre-shared key for both ends and a fresh Diffie-Hellman exchange, so that a key which leaks later
// opens nothing that was recorded before. No certificates. By OpenSSL.
//
// Who reads a link learns how much travels and when; who controls the network can end connections.

#include <poll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "linac/base/base/descriptor.h"
#include "linac/io/relay/relays.h"
#include "linac/train/comm/meeting/run_key.h"

struct ssl_st;
struct ssl_ctx_st;

namespace linac::comm {

/// What all links of a run have in common. Immutable, thread-safe.
class LinkContext {
 public:
  /// RFC 8446, 5.5: a key of AES-GCM is good for 2^24.5 records of 2^14 bytes.
  static constexpr size_t kBytesAKey = size_t{1} << 37;

  /// `run`: the name of the run, seen by all who look at the network; runs with the same key do not reach each other.
  /// `bytes_a_key`: how much a link sends before it derives a fresh key.
  LinkContext(const RunKey& key, std::string run, size_t bytes_a_key = kBytesAKey);
  LinkContext(const LinkContext&) = delete;
  LinkContext& operator=(const LinkContext&) = delete;

 private:
  friend class SecureLink;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  struct Callbacks;

  const std::string run_;
  const RunKey::Bytes key_;  // of the run's links
  const size_t bytes_a_key_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

/// One end. Never waits. One thread at a time. A call that throws (std::runtime_error with the reason) has ended it.
class SecureLink {
 public:
  enum class End { kCaller, kCalled };

  SecureLink() = default;  // none
  /// Over a socket that does not block; it need not be connected yet. `approach`: what a relay is told first, where one
  /// is on the way; the relay then sees what anybody on the network does.
  SecureLink(Descriptor socket, std::shared_ptr<const LinkContext> context, End end,
             std::optional<relay::Approach> approach = {});

  explicit operator bool() const { return static_cast<bool>(socket_); }
  int descriptor() const { return socket_.get(); }

  /// Goes on with the greeting; true once the other end has proved that it has the key. Before, nothing can be sent or
  /// received.
  bool established();
  /// POLLIN or POLLOUT: what the greeting waits for.
  short awaits() const { return awaits_; }

  /// How many bytes were taken; 0: none can be now (POLLOUT tells when). A call after such a one must begin with the
  /// same bytes, wherever they lie.
  size_t send(std::span<const std::byte> bytes);
  /// How many bytes have come; 0: none are there now (POLLIN tells when, but only after a call that gave 0).
  size_t receive(std::span<std::byte> bytes);

  void reset();

 private:
  struct Free {
    void operator()(ssl_st* tls) const;
  };

  [[noreturn]] void fail(int result);

  std::shared_ptr<const LinkContext> context_;
  Descriptor socket_;
  std::unique_ptr<ssl_st, Free> tls_;
  std::optional<relay::Approach> approach_;  // until it is done
  short awaits_ = POLLIN;
  size_t sent_with_key_ = 0;  // bytes
  bool blocked_ = false;      // the last send was not taken
};

}  // namespace linac::comm
