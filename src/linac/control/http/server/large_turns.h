#pragma once
// Large bodies take their thread for milliseconds each while they are parsed: between two of them whatever else waits
// for the thread has its turn, so that a small request waits for one large one and not for all. Used by the thread of
// its io_context alone.

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <deque>

#include "linac/control/http/server/awaited.h"

namespace linac::http {

class LargeTurns {
 public:
  explicit LargeTurns(boost::asio::io_context& io) : io_(io) {}

  /// Goes on when it is this one's turn, which lasts until its next suspension.
  Task<void> take();

  static constexpr size_t kTurnBytes = 16 * 1024;

 private:
  void next();

  boost::asio::io_context& io_;
  std::deque<Finish> waiting_;
  bool taken_ = false;
};

}  // namespace linac::http
