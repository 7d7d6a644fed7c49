#include "linac/model/graph/passes/join_masks.h"

#include <gtest/gtest.h>

namespace linac::graph {
namespace {

Graph masked(nlohmann::json constant, nlohmann::json any, bool read_twice = false) {
  Builder b("masked");
  const int x = b.input("x", {5, 3});
  const int differs = b.add("ops.NotEqual", "differs", {x}, {{"arguments", {nullptr, std::move(constant)}}});
  const int counts = b.add("ops.Any", "counts", {differs}, std::move(any));
  return b.finish(read_twice ? std::vector<int>{counts, differs} : std::vector<int>{counts});
}

TEST(JoinMasks, OneNodeForTheTwo) {
  for (const auto& axis : {nlohmann::json(-1), nlohmann::json(2), nlohmann::json{2}}) {
    const Graph joined = join_masks(masked(0.5, {{"axis", axis}}));
    ASSERT_EQ(joined.nodes.size(), 2U);
    EXPECT_EQ(joined.nodes[1].op, "StepMask");
    EXPECT_EQ(joined.nodes[1].attributes.at("value"), 0.5);
    EXPECT_EQ(joined.nodes[1].inputs, std::vector<int>{0});
    EXPECT_EQ(joined.nodes[1].output, Shape{5});
    EXPECT_EQ(joined.outputs, std::vector<int>{1});
  }
}

TEST(JoinMasks, OtherThingsStay) {
  EXPECT_EQ(join_masks(masked(0, {{"axis", 1}})).nodes.size(), 3U) << "over the steps";
  EXPECT_EQ(join_masks(masked(0, {{"axis", -1}, {"keepdims", true}})).nodes.size(), 3U);
  EXPECT_EQ(join_masks(masked(0, {{"axis", {1, 2}}})).nodes.size(), 3U);
  EXPECT_EQ(join_masks(masked(0, {{"axis", -1}}, true)).nodes.size(), 3U) << "read by others";
}

}  // namespace
}  // namespace linac::graph
