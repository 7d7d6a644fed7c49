#include "linac/control/http/server/event_stream.h"

#include "linac/control/http/server/awaited.h"

namespace linac::http {

Task<std::vector<std::shared_ptr<const std::string>>> next_events(EventSource& source) {
  static const auto kAlive = std::make_shared<const std::string>(":\n\n");
  co_await awaited([&](Finish finish) { source.wait([finish = std::move(finish)] { finish(nullptr); }); });
  auto events = source.take();
  if (events.empty()) events.push_back(kAlive);
  co_return events;
}

}  // namespace linac::http
