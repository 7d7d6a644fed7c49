#include "linac/control/http/server/guests.h"

#include <gtest/gtest.h>

namespace linac::http {
namespace {

struct Hall {
  Guests guests{6, 3};
  std::vector<int> ended;
  std::shared_ptr<Guest> enter(const char* address, int name, bool bounded = true) {
    return guests.enter(address, bounded, [this, name] { ended.push_back(name); });
  }
};

TEST(Guests, OfOneAddressTheOldestHalfRequestGivesWay) {
  Hall hall;
  const auto one = hall.enter("10.0.0.1", 1), two = hall.enter("10.0.0.1", 2), three = hall.enter("10.0.0.1", 3);
  two->works();
  two->waits();  // it has sent a request, the others none
  EXPECT_NE(hall.enter("10.0.0.2", 9), nullptr);
  const auto four = hall.enter("10.0.0.1", 4);
  ASSERT_NE(four, nullptr);
  EXPECT_EQ(hall.ended, std::vector<int>({1}));
  three->works();
  four->works();
  const auto five = hall.enter("10.0.0.1", 5);
  EXPECT_EQ(hall.ended, std::vector<int>({1, 2}));
  five->works();
  EXPECT_EQ(hall.enter("10.0.0.1", 6), nullptr) << "all are at work";
}

TEST(Guests, AllTogetherAreBounded) {
  Hall hall;
  std::vector<std::shared_ptr<Guest>> in;
  for (int i = 0; i < 6; ++i) in.push_back(hall.enter(("10.0.0." + std::to_string(i)).c_str(), i));
  in.push_back(hall.enter("10.0.1.1", 6));
  EXPECT_NE(in.back(), nullptr);
  EXPECT_EQ(hall.ended, std::vector<int>({0}));
  for (const auto& guest : in) guest->works();
  EXPECT_EQ(hall.enter("10.0.1.2", 7), nullptr);
  in.clear();
  EXPECT_NE(hall.enter("10.0.1.2", 8), nullptr);
}

TEST(Guests, AProxySpeaksForMany) {
  Hall hall;
  std::vector<std::shared_ptr<Guest>> in;
  for (int i = 0; i < 6; ++i) in.push_back(hall.enter("10.0.0.1", i, false));
  EXPECT_TRUE(hall.ended.empty());
}

TEST(Guests, NetworksOfIpv6CountAsOne) {
  EXPECT_EQ(Guests::network_of("2001:db8::1"), Guests::network_of("2001:db8::ffff:1"));
  EXPECT_NE(Guests::network_of("2001:db8::1"), Guests::network_of("2001:db8:0:1::1"));
  EXPECT_NE(Guests::network_of("10.0.0.1"), Guests::network_of("10.0.0.2"));
}

}  // namespace
}  // namespace linac::http
