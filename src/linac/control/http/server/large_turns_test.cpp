#include "linac/control/http/server/large_turns.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <string>
#include <vector>

namespace linac::http {
namespace {

namespace asio = boost::asio;

TEST(LargeTurns, WhatElseIsReadyComesBetweenTwo) {
  asio::io_context io;
  LargeTurns turns(io);
  std::vector<std::string> order;
  const auto large = [&](const char* name, const char* small) -> Task<void> {
    co_await turns.take();
    order.emplace_back(name);
    asio::post(io, [&order, small] { order.emplace_back(small); });
  };
  asio::co_spawn(io, large("large 1", "small 1"), asio::detached);
  asio::co_spawn(io, large("large 2", "small 2"), asio::detached);
  asio::co_spawn(io, large("large 3", "small 3"), asio::detached);
  io.run();
  EXPECT_EQ(order, (std::vector<std::string>{"large 1", "small 1", "large 2", "small 2", "large 3", "small 3"}));
}

TEST(LargeTurns, WhoWaitsGoesWithItsServer) {
  const auto held = std::make_shared<int>(0);
  {
    asio::io_context io;
    LargeTurns turns(io);
    const auto large = [&turns](std::shared_ptr<int> /*held*/) -> Task<void> { co_await turns.take(); };
    for (int i = 0; i < 3; ++i) asio::co_spawn(io, large(held), asio::detached);
    io.run_one();  // the first has begun, no more
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace linac::http
