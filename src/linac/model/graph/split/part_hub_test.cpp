#include "linac/model/graph/split/part_hub.h"

#include <gtest/gtest.h>

#include <array>
#include <future>

#include "linac/base/base/error.h"
#include "linac/model/graph/split/reach.h"

namespace linac::graph {
namespace {

/// Each part sends its number to all others and gets theirs.
std::vector<float> tell_all(PartLink& link) {
  const auto parts = static_cast<size_t>(link.parts());
  const float mine = static_cast<float>(link.part());
  std::vector<float> came(parts, -1);
  std::vector<std::span<const float>> to(parts, std::span(&mine, 1));
  std::vector<std::span<float>> from;
  for (float& one : came) from.emplace_back(&one, 1);
  link.exchange(to, from);
  came[static_cast<size_t>(link.part())] = mine;
  return came;
}

std::future<std::vector<float>> apart(PartHub& hub, int part) {
  return std::async(std::launch::async, [&hub, part] { return tell_all(hub.link(part)); });
}

TEST(PartHub, APartThatEndsEndsTheWaitOfTheOthers) {
  PartHub hub({0, 0, 0}, 0);
  auto first = apart(hub, 0), second = apart(hub, 1);
  hub.give_up("out of memory");
  for (auto* waiting : {&first, &second}) {
    try {
      waiting->get();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
      EXPECT_NE(std::string(error.what()).find("out of memory"), std::string::npos);
    }
  }
  EXPECT_THROW(tell_all(hub.link(2)), Error) << "who comes later does not wait";
  hub.begin_anew();
  for (int round = 0; round < 3; ++round) {
    auto one = apart(hub, 0), other = apart(hub, 1);
    EXPECT_EQ(tell_all(hub.link(2)), (std::vector<float>{0, 1, 2}));
    EXPECT_EQ(one.get(), other.get());
  }
}

// What carries messages to other processes fails: all parts here hear of it, with its reason.
TEST(PartHub, AFailureOfTheTransportIsEveryones) {
  int64_t calls = 0;
  PartHub hub({0, 0, 1}, 0,
              [&](std::span<const PartHub::Outward> out, std::span<const PartHub::Inward> in, int64_t count) {
                EXPECT_EQ(out.size(), 1U);
                EXPECT_EQ(in[0].data.size(), 2 * sizeof(float)) << "one message for two parts";
                if (count == 1) throw Error(ErrorCode::kPeerLost, "rank 1 has ended");
                ++calls;
                const std::array<float, 2> theirs{2, 2};
                std::ranges::copy(std::as_bytes(std::span(theirs)), in[0].data.begin());
              });
  auto other = apart(hub, 0);
  EXPECT_EQ(tell_all(hub.link(1)), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(other.get(), (std::vector<float>{0, 1, 2}));
  other = apart(hub, 0);
  EXPECT_THROW(tell_all(hub.link(1)), Error);
  EXPECT_THROW(other.get(), Error);
  EXPECT_EQ(calls, 1);
}

// By counting: an output cell needs what its window covers, whatever is said of ranges.
TEST(Reach, OfAWindowIsWhatItsCellsCover) {
  for (const char* padding : {"same", "valid"}) {
    for (const int64_t size : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        Builder b("g");
        const int x = b.input("x", {17, 1});
        Graph graph = b.finish({b.add(
            "Conv1D", "c", {x}, {{"filters", 1}, {"kernel_size", size}, {"strides", stride}, {"padding", padding}})});
        const Node& node = graph.nodes[1];
        const auto reach = reach_of(node, {{17, 1}});
        ASSERT_TRUE(reach);
        const int64_t out = node.output[0];
        const int64_t added = std::string(padding) == "same" ? std::max<int64_t>(0, (out - 1) * stride + size - 17) : 0;
        for (int64_t cell = 0; cell < out; ++cell) {
          const int64_t first = cell * stride - added / 2;
          EXPECT_EQ(reach->needed(0, {cell, cell + 1}), (Cells{first, first + size}));
        }
        EXPECT_EQ(reach->needed(0, {1, out}).end, reach->needed(0, {out - 1, out}).end);
      }
    }
  }
}

TEST(PartGrid, PartsCoverAnImageOnce) {
  for (const std::array<int, 3> axes : {std::array{2, 1, 3}, {1, 5, 1}, {3, 2, 2}}) {
    const PartGrid grid{axes};
    const Shape image{7, 5, 6, 4};
    ASSERT_TRUE(grid.divides(image));
    std::array<int, 7 * 5 * 6> seen{};
    for (int part = 0; part < grid.count(); ++part) {
      const Region own = grid.own(image, part);
      EXPECT_FALSE(is_empty(own));
      for (int64_t x = own[0].begin; x < own[0].end; ++x)
        for (int64_t y = own[1].begin; y < own[1].end; ++y)
          for (int64_t z = own[2].begin; z < own[2].end; ++z) ++seen[static_cast<size_t>((x * 5 + y) * 6 + z)];
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }));
  }
  EXPECT_FALSE((PartGrid{{1, 1, 2}}.divides({8, 8, 3}))) << "images of two axes have no third one";
  EXPECT_FALSE((PartGrid{{4, 1, 1}}.divides({3, 8, 3})));
  EXPECT_FALSE((PartGrid{{2, 1, 1}}.divides({3})));
}

}  // namespace
}  // namespace linac::graph
