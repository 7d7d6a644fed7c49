#include "linac/control/service/hub.h"

#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"

namespace linac::service {
namespace {

std::string taken(Subscription& subscription) {
  std::string text;
  for (const auto& event : subscription.take()) text += *event;
  return text;
}

std::string next(Subscription& subscription) {
  std::promise<void> woken;
  subscription.wait([&] { woken.set_value(); });
  EXPECT_EQ(woken.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  return taken(subscription);
}

int64_t number_of(const std::string& event) {
  return std::stoll(event.substr(event.find("id: ") + 4));
}

TEST(Hub, AUserHasSoManyStreamsAndOthersHaveTheirs) {
  Hub hub;
  const auto of = [&](const char* user) { return hub.subscribe("run", 0, {user, {}, {}, false, 0}); };
  std::vector<std::shared_ptr<Subscription>> streams;
  for (int64_t i = 0; i < Hub::kStreamsOfOneMax; ++i) streams.push_back(of("ann"));
  EXPECT_THROW(of("ann"), Refusal);
  EXPECT_EQ(hub.subscribers(), Hub::kStreamsOfOneMax);
  EXPECT_NE(of("bob"), nullptr);
  streams.pop_back();
  EXPECT_NE(of("ann"), nullptr);
}

TEST(Hub, SameBytesForAllWhoWatchARun) {
  Hub hub;
  hub.publish("run", "state", "nobody sees it");
  const auto a = hub.subscribe("run", 0), b = hub.subscribe("run", 0), other = hub.subscribe("other", 0);
  EXPECT_EQ(hub.subscribers(), 3);
  hub.publish("run", "state", {{"state", "RUNNING"}});
  const auto first = a->take(), second = b->take();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].get(), second[0].get());  // one text for both
  EXPECT_NE(first[0]->find("event: state\ndata: {\"state\":\"RUNNING\"}\n\n"), std::string::npos);
  EXPECT_EQ(taken(*other), "");
  EXPECT_EQ(taken(*a), "");
}

TEST(Hub, PointsAreGatheredAndKeepNaN) {
  Hub hub;
  const auto watcher = hub.subscribe("run", 0);
  for (int i = 0; i < 100; ++i) {
    const catalog::KeyedPoint point{"loss", {i, 7, i == 3 ? NAN : 0.5}};
    hub.publish_points("run", {&point, 1});
  }
  const std::string text = next(*watcher);
  EXPECT_EQ(text.find("event: points"), text.rfind("event: points"));  // a single one
  EXPECT_NE(text.find("[3,7,\"NaN\"]"), std::string::npos);
  EXPECT_NE(text.find("[99,7,0.5]"), std::string::npos);
}

TEST(Hub, PointsComeBeforeTheStateThatFollowsThem) {
  Hub hub;
  const auto watcher = hub.subscribe("run", 0);
  const catalog::KeyedPoint point{"loss", {1, 7, 0.5}};
  hub.publish_points("run", {&point, 1});
  hub.publish("run", "state", "SUCCEEDED");
  const std::string text = taken(*watcher);
  EXPECT_LT(text.find("event: points"), text.find("event: state"));
}

TEST(Hub, AReturningClientGetsWhatItMissedOrIsReset) {
  Hub hub;
  auto watcher = hub.subscribe("run", 0);
  hub.publish("run", "log", "one");
  const int64_t seen = number_of(taken(*watcher));
  watcher.reset();
  hub.publish("run", "log", "two");
  EXPECT_NE(taken(*hub.subscribe("run", seen)).find("two"), std::string::npos);
  EXPECT_EQ(taken(*hub.subscribe("run", seen + 1)), "");
  EXPECT_EQ(taken(*hub.subscribe("run", 5)), "event: reset\ndata: {}\n\n");
  const auto slow = hub.subscribe("run", 0);
  for (size_t i = 0; i < Hub::kEventsKept + 1; ++i) hub.publish("run", "log", i);
  EXPECT_EQ(taken(*slow), "event: reset\ndata: {}\n\n");
  EXPECT_EQ(taken(*slow), "");
}

TEST(Hub, StoppingWakesEverybody) {
  Hub hub;
  const auto watcher = hub.subscribe("run", 0);
  std::promise<void> woken;
  watcher->wait([&] { woken.set_value(); });
  hub.stop();
  EXPECT_EQ(woken.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_TRUE(watcher->ended());
}

TEST(Hub, EndsTheStreamsWhoseRightsHaveChanged) {
  Hub hub;
  const auto owner = hub.subscribe("r", 0, {.user = "ann", .token = "t1"});
  const auto other = hub.subscribe("r", 0, {.user = "bob", .of_another = true});
  std::atomic<int> woken = 0;
  other->wait([&] { ++woken; });
  hub.withdraw([](const Pass& pass) { return pass.of_another; });
  EXPECT_EQ(woken, 1);
  hub.publish("r", "state", {{"state", "RUNNING"}});
  EXPECT_TRUE(other->ended());
  EXPECT_TRUE(other->take().empty());
  EXPECT_FALSE(owner->ended());
  EXPECT_EQ(owner->take().size(), 1u);
  hub.withdraw([](const Pass& pass) { return pass.token == "t1"; });
  EXPECT_TRUE(owner->ended());
  EXPECT_TRUE(hub.subscribe("r", 0, {.until_ms = 1})->ended()) << "its token has ended";
  EXPECT_FALSE(hub.subscribe("r", 0, {.user = "ann"})->ended());
}

}  // namespace
}  // namespace linac::service
