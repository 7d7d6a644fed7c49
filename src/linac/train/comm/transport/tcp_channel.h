#pragma once
// Messages between the members of a view over TCP: of the whole group (tcp_group.h), or of a part of it. A connection
// is opened when data first goes that way, and lasts as long as the view; each channel has connections of its own, so
// channels share nothing that one of them could hold up. One thread a channel uses it; what an exchange has to encrypt
// and to decrypt, where that is much, it divides by connections among threads of its own.

#include <poll.h>

#include <map>
#include <memory>
#include <vector>

#include "linac/base/base/thread_pool.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/transport/membership_node.h"

namespace linac::comm {

/// Before each message: how long it is, and what it is for.
struct TcpHead {
  uint64_t bytes;
  int64_t tag;
};

class TcpChannel : public Group {
 public:
  ~TcpChannel() override;

  bool leaving() const override { return end_->has_come(); }
  void mark(const char* what, int number) override { node_->mark(what, number, false); }

  /// Those of its own links.
  size_t descriptors() const;

  /// From a peer, with what has come of its next message's head.
  struct InLink {
    bool advance();

    SecureLink link{};
    TcpHead head{};
    size_t of_head = 0;  // bytes
  };

 protected:
  /// The whole group, outside of any view. `stall_timeout` bounds the wait for data.
  TcpChannel(std::shared_ptr<MembershipNode> node, std::chrono::milliseconds stall_timeout);
  void enter(const MembershipNode::Place& place);

  MembershipNode& node() const { return *node_; }
  void close() noexcept override;

 private:
  /// Some of the messages of an exchange, which one thread moves.
  struct Load;

  TcpChannel(Part part, const TcpChannel& of);
  void move(std::vector<Load>& loads);
  void exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) override;
  std::unique_ptr<Group> open_part(Part part) override;
  void waiting_for(int peer, const char* operation) override;
  void need_view() const;
  void complain_of(int peer);
  void link_to(std::span<const Outward> sends);
  InLink& link_from(int peer);

  const std::shared_ptr<MembershipNode> node_;  // lives as long as some channel does
  std::shared_ptr<ViewEnd> end_;
  const std::chrono::milliseconds patience_;
  std::map<int, SecureLink> to_;  // by rank
  std::map<int, InLink> from_;
  std::unique_ptr<ThreadPool> pool_;  // once it was needed
};

}  // namespace linac::comm
