#pragma once
// Server-sent events: where they come from, and waiting for them within a coroutine.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linac/control/http/routes/route.h"

namespace linac::http {

/// What a client listens to. For the one coroutine of its connection, but for the function that wait() is given.
class EventSource {
 public:
  virtual ~EventSource() = default;
  /// The events that came since the last call, as they go over the wire; empty if there are none.
  virtual std::vector<std::shared_ptr<const std::string>> take() = 0;
  /// Calls `wake` once, from any thread, when there is something to take (at once if there is), a sign of life is due
  /// or no event comes any more.
  virtual void wait(std::function<void()> wake) = 0;
  /// No event comes any more.
  virtual bool ended() const = 0;
};

/// The events that there are, or the next that come; a comment as a sign of life if none come for a while.
Task<std::vector<std::shared_ptr<const std::string>>> next_events(EventSource& source);

}  // namespace linac::http
