#include "linac/io/data/order/in_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace linac::data {
namespace {

class InOrderTest : public ::testing::Test {
 protected:
  void SetUp() override { storage::read_width().fix(3, 1); }
  void TearDown() override { storage::read_width().fix({}, {}); }
};

TEST_F(InOrderTest, OpensSeveralAndHandsThemOutInOrder) {
  std::atomic<int> at_once = 0, most = 0;
  std::atomic<size_t> taken = 0, furthest = 0;
  InOrder<size_t> files(20, [&](size_t i) {
    const int now = ++at_once;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) continue;
    furthest = std::max(furthest.load(), i - std::min(i, taken.load()));
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 3 == 0 ? 9 : 3));
    --at_once;
    return 10 * i;
  });
  for (size_t i = 0; i < 20; ++i, ++taken) EXPECT_EQ(files.take(), 10 * i);
  EXPECT_GE(most, 2);
  EXPECT_LE(most, 3);
  EXPECT_LE(furthest, 4U) << "what waits to be taken is bounded";
}

TEST_F(InOrderTest, AnErrorIsThrownForItsFile) {
  InOrder<int> files(5, [](size_t i) {
    if (i == 2) throw std::runtime_error("damaged");
    return static_cast<int>(i);
  });
  EXPECT_EQ(files.take(), 0);
  EXPECT_EQ(files.take(), 1);
  EXPECT_THROW(files.take(), std::runtime_error);
  EXPECT_EQ(files.take(), 3);
}

TEST_F(InOrderTest, EndsWhileFilesAreBeingOpened) {
  for (int i = 0; i < 20; ++i) {
    InOrder<int> files(50, [](size_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 0;
    });
    if (i % 2 == 0) files.take();
  }
}

}  // namespace
}  // namespace linac::data
