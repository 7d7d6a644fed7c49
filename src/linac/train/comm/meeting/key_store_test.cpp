// Both kinds of stores at which tests meet, LibTorch's and the loopback one, keep what key_store.h says.

#include "linac/train/comm/meeting/key_store.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/test_stores.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ms;

std::set<const Stores*> kinds() {
  return {testing::chosen_stores(), &testing::loopback_stores()};
}

TEST(KeyStore, TextsAreFoundByTheirKeys) {
  const std::string text("a\n\0b\xff", 5);
  for (const Stores* const stores : kinds()) {
    const auto host = host_store(*stores, "127.0.0.1");
    const auto one = stores->reach("127.0.0.1", host->port(), 20s);
    const auto other = stores->reach("127.0.0.1", host->port(), 20s);
    EXPECT_FALSE(other->check("run/0"));
    one->set("run/0", text);
    EXPECT_TRUE(one->check("run/0"));
    EXPECT_TRUE(other->check("run/0"));
    EXPECT_FALSE(other->check("run/1"));
    other->wait("run/0", 20s);
    EXPECT_EQ(other->get("run/0"), text);
    EXPECT_TRUE(host->check("run/0"));
    EXPECT_FALSE(host->check("run/1"));
    one->set("run/0", "again");
    EXPECT_EQ(one->get("run/0"), "again");
    EXPECT_EQ(other->get("run/0"), "again");
  }
}

TEST(KeyStore, AWaitEndsWithTheKeyOrTheLimit) {
  for (const Stores* const stores : kinds()) {
    const auto host = host_store(*stores, "127.0.0.1");
    const auto store = stores->reach("127.0.0.1", host->port(), 20s);
    EXPECT_THROW(store->wait("late", 50ms), std::exception);
    std::thread sets([&] {
      std::this_thread::sleep_for(100ms);
      stores->reach("127.0.0.1", host->port(), 20s)->set("late", "here");
    });
    store->wait("late", 20s);
    EXPECT_EQ(store->get("late"), "here");
    sets.join();
  }
}

TEST(KeyStore, ATakenPortIsAnEnvironmentError) {
  for (const Stores* const stores : kinds()) {
    const auto host = host_store(*stores, "127.0.0.1");
    try {
      host_store(*stores, "127.0.0.1", host->port());
      FAIL() << "the port was taken twice";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
      EXPECT_NE(std::string(error.what()).find(std::to_string(host->port())), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace linac::comm
