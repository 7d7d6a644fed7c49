#include "linac/train/comm/transport/link_calls.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linac/train/comm/transport/control_links.h"

namespace linac::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kCallAgain{20}, kCallRelayAgain{250};
constexpr int kCalls = 6;

class Call {
 public:
  Call(const Callee& callee, std::shared_ptr<const LinkContext> context, const Ways* ways)
      : callee_(callee), context_(std::move(context)), ways_(ways), by_relay_(is_by_relay(ways, callee.address)) {}

  bool done() const { return done_; }
  int rank() const { return callee_.rank; }
  SecureLink take() { return std::move(link_); }
  Clock::time_point again() const { return again_; }
  // Ignored by poll while it is not time to call again.
  pollfd waits() const { return {link_.descriptor(), connected_ ? link_.awaits() : short{POLLOUT}, 0}; }

  void advance(bool ready) {
    if (!link_ && Clock::now() < again_) return;
    if (!link_) return begin();
    if (!ready) return;
    if (!connected_) {
      if (const int error = by_relay_ ? 0 : connection_error(link_.descriptor()); error != 0)
        fail(std::strerror(error));
      connected_ = true;
    }
    try {
      if (!link_.established()) return;
      // A fresh connection has room for so little.
      if (link_.send(std::as_bytes(std::span(callee_.hello))) != callee_.hello.size())
        throw std::runtime_error("no room for a greeting");
      done_ = true;
    } catch (const std::runtime_error& error) {
      if (++broken_off_ >= kCalls && !by_relay_) fail(error.what());
      link_.reset();
      again_ = Clock::now() + (by_relay_ ? kCallRelayAgain : broken_off_ * kCallAgain);
    }
  }

 private:
  void begin() {
    bool refused = false;
    link_ = begin_link(callee_.address, context_, ways_, refused);
    if (refused) fail("nobody listens there");
    if (!link_) again_ = Clock::now() + kCallRelayAgain;
    connected_ = false;
  }
  [[noreturn]] void fail(const std::string& why) const { throw LinkFailed(callee_.rank, why); }

  const Callee& callee_;
  const std::shared_ptr<const LinkContext> context_;
  const Ways* const ways_;
  const bool by_relay_;
  SecureLink link_;
  bool connected_ = false, done_ = false;
  int broken_off_ = 0;
  Clock::time_point again_{};
};

}  // namespace

std::vector<SecureLink> call_all(std::span<const Callee> callees, const std::shared_ptr<const LinkContext>& context,
                                 milliseconds limit, const ViewEnd& end, const Ways* ways) {
  std::vector<Call> calls;
  for (const Callee& callee : callees) calls.emplace_back(callee, context, ways);
  const auto last = Clock::now() + limit;
  std::vector<pollfd> polled(calls.size() + 1);
  for (;;) {
    auto wake = last;
    const Call* waiting = nullptr;
    for (size_t i = 0; i < calls.size(); ++i) {
      Call& call = calls[i];
      if (!call.done()) call.advance(polled[i].revents != 0);
      polled[i] = call.done() ? pollfd{-1, 0, 0} : call.waits();
      if (call.done()) continue;
      waiting = &call;
      if (polled[i].fd < 0) wake = std::min(wake, call.again());
    }
    if (waiting == nullptr) break;
    polled.back() = {end.descriptor(), POLLIN, 0};
    const auto left = std::chrono::ceil<milliseconds>(wake - Clock::now());
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno != EINTR) throw LinkFailed(waiting->rank(), std::strerror(errno));
    if (end.has_come()) throw LinkFailed(waiting->rank(), "the view is being left");
    if (Clock::now() >= last) throw LinkFailed(waiting->rank(), "timed out");
  }
  std::vector<SecureLink> links;
  for (Call& call : calls) links.push_back(call.take());
  return links;
}

}  // namespace linac::comm
