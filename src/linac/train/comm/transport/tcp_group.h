#pragma once
// The group of a run's processes over TCP, which changes as workers are lost and join (membership_node.h).

#include <functional>
#include <memory>

#include "linac/train/comm/transport/membership_node.h"
#include "linac/train/comm/transport/neighbour_links.h"
#include "linac/train/comm/transport/tcp_channel.h"

namespace linac::comm {

class TcpGroup : public TcpChannel {
 public:
  /// `join`: makes the node join a run, in the first next_view(). Without, the node has founded its run, and the group
  /// takes its place in the first view. `stall_timeout` bounds the wait for data.
  TcpGroup(std::unique_ptr<MembershipNode> node, std::chrono::milliseconds stall_timeout,
           std::function<void(MembershipNode&)> join = {});
  /// Ends the waits of its parts.
  ~TcpGroup() override;

  /// All that this process has open for the run but those of its parts.
  size_t all_descriptors() const { return node().descriptors() + descriptors(); }
  bool may_change() const override { return true; }
  bool commit(const Moment& moment) override { return node().commit(moment); }
  void shut_out(int rank, const Error& why) override {
    node().shut_out(view().members.at(static_cast<size_t>(rank)), why);
  }
  bool wants_next_view() const override { return node().wants_next_view(); }
  bool leaving() const override { return node().leaving(); }
  void mark_file(const char* what) override { node().mark_file(what); }
  void tell(double pace_s, std::string account) override { node().tell(pace_s, std::move(account)); }
  std::vector<Activity> activities() const override { return node().activities(); }
  void share_ranges(std::shared_ptr<storage::RangeShare> share) override;
  void fail_with(const Error& error, Reach reach) noexcept override;
  void finish() noexcept override;

 private:
  bool reopen(const std::string& why) override;
  void tell_share();

  std::function<void(MembershipNode&)> join_;  // called once
  std::shared_ptr<storage::RangeShare> share_;
  std::shared_ptr<NeighbourLinks> neighbour_links_;
};

}  // namespace linac::comm
