#include "linac/control/client/metric_names.h"

#include <gtest/gtest.h>

namespace linac::client {
namespace {

using Names = std::vector<std::string>;

TEST(MetricNames, AreFoundInFilters) {
  EXPECT_EQ(metrics_in("metrics.auc > 0.9 AND (metrics.`test/val loss` < 1 OR NOT metric.x = 2)"),
            (Names{"auc", "test/val loss", "x"}));
  EXPECT_EQ(metrics_in("metrics.test/auc DESC"), Names{"test/auc"});
  EXPECT_EQ(metrics_in("metrics.`a``b` > 1"), Names{"a`b"});
  EXPECT_EQ(metrics_in("tags.x = 'metrics.auc' AND params.my_metrics.y = '1'"), Names{}) << "texts and other names";
  for (const char* broken : {"", "metrics.", "metrics.`", "'", "`metrics.a", "metrics.\"a"}) (void)metrics_in(broken);
}

TEST(MetricNames, UnknownOnesAreToldWithTheNearest) {
  const auto known =
      metrics_of(nlohmann::json::parse(R"([{"metrics": {"loss": {}, "test/auc": {}}}, {"metrics": {"loss": {}}}])"));
  EXPECT_EQ(known, (Names{"loss", "test/auc"}));
  EXPECT_EQ(unknown_metrics({"loss"}, known), Names{});
  EXPECT_EQ(unknown_metrics({"lsos", "lsos", "test/acu", "momentum"}, known),
            (Names{"no metric 'lsos'; did you mean loss?", "no metric 'momentum'",
                   "no metric 'test/acu'; did you mean test/auc?"}));
}

}  // namespace
}  // namespace linac::client
