#include "linac/base/base/turned_bit.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace linac {
namespace {

TEST(TurnedBit, OneOfAnyByteAndBackAgain) {
  std::set<std::pair<size_t, int>> places;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const RngKey key{.seed = seed, .stream = Stream::kAudit};
    std::vector<std::byte> memory(5);
    turn_a_bit(memory, key);
    int turned = 0;
    for (size_t i = 0; i < memory.size(); ++i) {
      turned += std::popcount(std::to_integer<unsigned char>(memory[i]));
      if (memory[i] != std::byte{0}) places.emplace(i, std::countr_zero(std::to_integer<unsigned char>(memory[i])));
    }
    EXPECT_EQ(turned, 1);
    turn_a_bit(memory, key);
    EXPECT_EQ(memory, std::vector<std::byte>(5));
  }
  EXPECT_EQ(places.size(), 40U) << "every bit has its turn";
}

}  // namespace
}  // namespace linac
