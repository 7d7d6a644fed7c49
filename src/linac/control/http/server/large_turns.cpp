#include "linac/control/http/server/large_turns.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace linac::http {

Task<void> LargeTurns::take() {
  co_await awaited([this](Finish go_on) {
    waiting_.push_back(std::move(go_on));
    if (!taken_) next();
  });
}

void LargeTurns::next() {
  taken_ = !waiting_.empty();
  if (!taken_) return;
  const Finish go_on = std::move(waiting_.front());
  waiting_.pop_front();
  go_on(nullptr);
  // Stands behind that one and behind all that is ready by then.
  boost::asio::post(io_, [this] { next(); });
}

}  // namespace linac::http
