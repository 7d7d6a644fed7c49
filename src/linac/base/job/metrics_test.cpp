#include "linac/base/job/metrics.h"

#include <gtest/gtest.h>

namespace linac::job {
namespace {

TEST(Metrics, AMeasureSaysWhatIsBetter) {
  for (const char* name : {"auc", "kind_auc", "kind_weighted_accuracy", "top_k_accuracy", "cosine_similarity", "r2"})
    EXPECT_EQ(better_of(name), Better::kHigher) << name;
  for (const char* name :
       {"loss", "kind_loss", "g/total", "mean_squared_error", "fpd", "ks.response", "profile.z.worst"})
    EXPECT_EQ(better_of(name), Better::kLower) << name;
  for (const char* name : {"purity", "xauc", "ks", "critic/distance", ""})
    EXPECT_EQ(better_of(name).has_value(), std::string_view(name) == "ks") << name;
}

}  // namespace
}  // namespace linac::job
