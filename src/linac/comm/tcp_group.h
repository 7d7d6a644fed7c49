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
  bool leaving() const override { return node_->leaving(); }
  void mark(const char* what, int number) override { node_->mark(what, number, false); }
  void tell(double pace_s, std::string account) override { node_->tell(pace_s, std::move(account)); }
  std::vector<Activity> activities() const override { return node_->activities(); }
  void fail_with(const Error& error, Reach reach) noexcept override;
  void finish() noexcept override;

 private:
  void exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) override;
  void close() noexcept override;
  bool reopen(const std::string& why) override;
  void waiting_for(int peer, const char* operation) override;

  const std::unique_ptr<MembershipNode> node_;
  std::function<void(MembershipNode&)> join_;  // called once
  const std::chrono::milliseconds patience_;
  std::map<int, Descriptor> to_, from_;  // by rank
};

}  // namespace linac::comm
