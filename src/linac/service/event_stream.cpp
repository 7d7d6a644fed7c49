#include "linac/service/event_stream.h"

#include "linac/service/awaited.h"

namespace linac::service {

Task<std::vector<std::shared_ptr<const std::string>>> next_events(Subscription& subscription) {
  static const auto kAlive = std::make_shared<const std::string>(":\n\n");
  co_await awaited([&](Finish finish) { subscription.wait([finish = std::move(finish)] { finish(nullptr); }); });
  auto events = subscription.take();
  if (events.empty()) events.push_back(kAlive);
  co_return events;
}

}  // namespace linac::service
