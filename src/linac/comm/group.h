#pragma once
// A group of workers that exchange floats and short texts. The transport (Gloo over TCP, or memory for tests) carries
// bytes between two ranks; the collectives here are built on it once, so they behave alike on every transport.
//
// All ranks call the same collectives in the same order. One thread at a time uses a Group. Destroying it ends the
// connections: peers still waiting for this rank fail instead of hanging.
//
// Errors: every call that exchanges data throws Error(kPeerLost), naming this rank, the operation and the peer, when
// the peer has ended or does not answer within the group's timeout. The group is closed by then (which ends the peers'
// waits in turn), and further calls throw the same way.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/comm/rendezvous.h"

namespace linac::comm {

/// What this rank has sent, and the time it has spent in exchanges, waiting included.
struct Traffic {
  int64_t bytes = 0;
  int64_t messages = 0;
  double seconds = 0;
};

class Group {
 public:
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Traffic& traffic() const { return traffic_; }

  static constexpr int kMaxTag = 1'000'000;

  /// Copies `root`'s data to every rank; the same size everywhere.
  void broadcast(std::span<float> data, int root);
  /// Exchange between two ranks, matched by tag (0..kMaxTag), in the order of the calls. Both give the same size. A
  /// send may return only once the peer receives.
  void send(std::span<const float> data, int to, int tag);
  void receive(std::span<float> data, int from, int tag);
  /// Returns when every rank has called it.
  void barrier();
  /// At rank 0 the texts of all ranks in rank order; elsewhere empty. Each text at most kMaxTextBytes (else user
  /// error).
  std::vector<std::string> gather_text(const std::string& mine);
  static constexpr size_t kMaxTextBytes = 1 << 20;

 protected:
  Group(int rank, int size) : rank_(rank), size_(size) {}

  /// The transport. Both block until done and throw any std::exception whose text says why it failed; they are never
  /// called with empty data, with this rank as the peer, or after close().
  virtual void send_bytes(std::span<const std::byte> data, int to, int tag) = 0;
  virtual void receive_bytes(std::span<std::byte> data, int from, int tag) = 0;
  /// Ends all connections. Called once, after a failure; destructors end them too.
  virtual void close() noexcept = 0;

 private:
  [[noreturn]] void fail(const char* operation, int peer, const std::string& why);
  void send_part(std::span<const std::byte> data, int to, int tag, const char* operation);
  void receive_part(std::span<std::byte> data, int from, int tag, const char* operation);
  void broadcast_bytes(std::span<std::byte> data, int root, int tag, const char* operation);

  int rank_;
  int size_;
  bool closed_ = false;
  Traffic traffic_;
};

/// Joins the group that `rendezvous` describes and returns once all ranks have. A size of 1 needs no network. Otherwise
/// TCP by Gloo, on the loopback interface when the master is there. `timeout` bounds the meeting (a failed one may take
/// a few seconds more) and every later wait.
/// Error(kPeerLost) names the ranks that did not join; environment error when the address cannot be used.
std::unique_ptr<Group> make_group(const Rendezvous& rendezvous, std::chrono::milliseconds timeout);

}  // namespace linac::comm
