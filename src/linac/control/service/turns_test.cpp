#include "linac/control/service/turns.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

#include "linac/base/base/refusal.h"

namespace linac::service {
namespace {

struct Ask {
  boost::asio::io_context io;
  std::vector<std::pair<std::string, std::shared_ptr<void>>> got;
  int refused = 0;

  Task<void> take(Turns& turns, std::string who) {
    try {
      auto turn = co_await turns.take(who);
      got.emplace_back(who, std::move(turn));
    } catch (const Refusal&) {
      ++refused;
    }
  }
  void operator()(Turns& turns, const std::string& who) {
    boost::asio::co_spawn(io, take(turns, who), boost::asio::detached);
    run();
  }
  void run() {
    io.restart();
    io.poll();
  }
  void give_first() {
    got.erase(got.begin());
    run();
  }
};

TEST(Turns, OneHasNoMoreThanHisShareAndThoseWhoWaitAreServedInTurn) {
  Turns turns(3, 2);
  Ask ask;
  for (int i = 0; i < 5; ++i) ask(turns, "greedy");
  ASSERT_EQ(ask.got.size(), 2u);
  ask(turns, "second");
  ASSERT_EQ(ask.got.size(), 3u);
  ask(turns, "third");  // all three are held
  ask(turns, "third");
  ASSERT_EQ(ask.got.size(), 3u);
  ask.give_first();
  ask.give_first();
  ask.give_first();
  std::vector<std::string> who;
  for (const auto& [name, turn] : ask.got) who.push_back(name);
  EXPECT_EQ(who, (std::vector<std::string>{"greedy", "third", "greedy"}));
  while (!ask.got.empty()) ask.give_first();
}

TEST(Turns, OnlySoManyOfOneWait) {
  Turns turns(1);
  Ask ask;
  for (size_t i = 0; i < Turns::kWaitingOfOneMax + 3; ++i) ask(turns, "greedy");
  EXPECT_EQ(ask.refused, 2);
  ask(turns, "other");
  EXPECT_EQ(ask.refused, 2);
  while (!ask.got.empty()) ask.give_first();
}

}  // namespace
}  // namespace linac::service
