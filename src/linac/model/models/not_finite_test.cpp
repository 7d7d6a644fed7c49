#include "linac/model/models/not_finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "linac/base/base/rng.h"

namespace linac::models {
namespace {

// Means of lists of two rows, of which zeros are hidden.
graph::Graph of_lists() {
  graph::Builder b("of_lists");
  const int rows = b.input("rows", {2, 3});
  const int pooled = b.add("GlobalAveragePooling1D", "pool", {b.add("Masking", "mask", {rows}, {{"mask_value", 0.0}})});
  const int normal = b.add("BatchNormalization", "norm", {b.add("Dense", "dense", {pooled}, {{"units", 2}})});
  return b.finish({b.add("Dense", "out", {normal}, {{"units", 1}})});
}

graph::Parameters drawn(const graph::Graph& graph) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  graph::initialize(graph, 1, 0, parameters);
  return parameters;
}

TEST(NotFinite, NamesTheLayerWhereItBeginsAndItsEvents) {
  const graph::Graph graph = of_lists();
  std::vector<float> rows(4 * 6, 1);
  std::fill_n(rows.begin() + 6, 6, 0.0F);
  std::fill_n(rows.begin() + 18, 6, 0.0F);
  for (const auto& training : {std::optional<RngKey>(), std::optional<RngKey>(RngKey{})}) {
    const auto found = find_not_finite(graph, drawn(graph), {rows}, 4, training);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->layer, "layer 'pool' (GlobalAveragePooling1D)") << "not where a batch mixes its events";
    EXPECT_EQ(found->events, (std::vector<int64_t>{1, 3}));
    EXPECT_EQ(found->empty, std::vector<std::string>{"rows"});
    EXPECT_EQ(found->largest, 1);
    EXPECT_NE(advice_for_training(*found).find("data.filter"), std::string::npos);
  }
}

TEST(NotFinite, IsNoneWhereAllOutputsAreFinite) {
  const graph::Graph graph = of_lists();
  const std::vector<float> rows(6, 1);
  EXPECT_FALSE(find_not_finite(graph, drawn(graph), {rows}, 1, {}));
}

TEST(NotFinite, KnowsWhatHasGrown) {
  const graph::Graph graph = of_lists();
  const std::vector<float> rows(6, 1);
  graph::Parameters parameters = drawn(graph);
  for (float& weight : parameters.values("dense/kernel")) weight = 3e38F;
  const auto found = find_not_finite(graph, parameters, {rows}, 1, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->layer, "layer 'dense' (Dense)");
  EXPECT_TRUE(found->empty.empty());
  EXPECT_NE(advice_for_training(*found).find("train.optimizer.lr"), std::string::npos);
  parameters.values("dense/kernel")[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(find_not_finite(graph, parameters, {rows}, 1, {})->largest));
}

}  // namespace
}  // namespace linac::models
