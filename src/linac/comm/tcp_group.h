#pragma once
// The group of a run's processes over TCP, which changes as workers are lost and join (membership_node.h). A connection
// between two members is opened when data first goes that way, and lasts as long as the view.

#include <map>
#include <memory>

#include "linac/comm/group.h"
#include "linac/comm/membership_node.h"

namespace linac::comm {

class TcpGroup : public Group {
 public:
  /// `join`: makes the node join a run, in the first next_view(). Without, the node has founded its run, and the group
  /// takes its place in the first view. `stall_timeout` bounds the wait for data.
  TcpGroup(std::unique_ptr<MembershipNode> node, std::chrono::milliseconds stall_timeout,
           std::function<void(MembershipNode&)> join = {});
  ~TcpGroup() override;

  bool commit(const Moment& moment) override { return node_->commit(moment); }
  bool wants_next_view() const override { return node_->wants_next_view(); }
  void mark(const char* what, int number) override { node_->mark(what, number, false); }
  void set_pace(double seconds) override { node_->set_pace(seconds); }
  void fail_with(const Error& error, Reach reach) noexcept override;
  void finish() noexcept override;

 private:
  void send_bytes(std::span<const std::byte> data, int to, int tag) override;
  void receive_bytes(std::span<std::byte> data, int from, int tag) override;
  void close() noexcept override;
  bool reopen(const std::string& why) override;
  void waiting_for(int peer, const char* operation) override;

  const std::unique_ptr<MembershipNode> node_;
  std::function<void(MembershipNode&)> join_;  // called once
  const std::chrono::milliseconds patience_;
  std::map<int, Descriptor> to_, from_;  // by rank
};

}  // namespace linac::comm
