#include "linac/train/comm/transport/tcp_group.h"

#include <utility>

#include "linac/base/base/log.h"

namespace linac::comm {

TcpGroup::TcpGroup(std::unique_ptr<MembershipNode> node, std::chrono::milliseconds stall_timeout,
                   std::function<void(MembershipNode&)> join)
    : TcpChannel(std::move(node), stall_timeout), join_(std::move(join)) {
  if (!join_) enter(*this->node().await_view(0));
}

TcpGroup::~TcpGroup() {
  node().close_view();
  if (!share_) return;
  node().welcome_neighbours({});
  share_->set_neighbours("", {}, nullptr);
}

void TcpGroup::share_ranges(std::shared_ptr<storage::RangeShare> share) {
  LINAC_CHECK(!share_);
  share_ = std::move(share);
  if (!share_) return node().welcome_neighbours({});
  neighbour_links_ = std::make_shared<NeighbourLinks>(
      share_,
      [&node = node()](const std::string& address, const ViewEnd& end) { return node.call_neighbour(address, end); });
  node().welcome_neighbours([links = neighbour_links_](SecureLink link) { links->take(std::move(link)); });
  if (view().size() > 0) tell_share();
}

void TcpGroup::tell_share() {
  auto [names, self] = node().neighbours(view());
  neighbour_links_->set_others(names.size());
  share_->set_neighbours(self, std::move(names), neighbour_links_);
}

void TcpGroup::fail_with(const Error& error, Reach reach) noexcept {
  try {
    node().fail_with(error, reach);
  } catch (const std::exception& other) {
    log::warn(other.what());
  }
}

void TcpGroup::finish() noexcept {
  node().finish();
}

bool TcpGroup::reopen(const std::string& why) {
  node().mark("waiting for the next view", -1, true);
  if (join_) {
    std::exchange(join_, {})(node());
  } else {
    node().leave_view(why);
  }
  const auto place = node().await_view(view().number);
  if (!place) return false;
  enter(*place);
  if (share_) tell_share();
  node().mark("entering a view", -1, false);
  return true;
}

}  // namespace linac::comm
