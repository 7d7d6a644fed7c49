#include "linac/model/chain/shower_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/model/chain/test_parts.h"

namespace linac::chain {
namespace {

using Image = std::vector<float>;

Image make(const ShowerChain& chain, double energy_gev, double theta, uint64_t event,
           ShowerChain::Workspace& workspace) {
  Image image(static_cast<size_t>(chain.shape().cells()));
  chain.make(energy_gev, theta, chain_key(3, event), image, workspace);
  return image;
}

TEST(ShowerChain, FollowsFromItsKeyWhateverCameBefore) {
  const ShowerChain chain(test_parts(), "test");
  ShowerChain::Workspace used(chain), fresh(chain);
  std::vector<Image> images;
  for (uint64_t event = 0; event < 5; ++event) images.push_back(make(chain, 50, 1.3, event, used));
  EXPECT_EQ(make(chain, 50, 1.3, 3, fresh), images[3]);
  EXPECT_EQ(make(chain, 50, 1.3, 0, used), images[0]);
  EXPECT_NE(images[0], images[1]);
}

TEST(ShowerChain, TheOtherSideIsTheMirrorImage) {
  const ShowerChain chain(test_parts(), "test");
  ShowerChain::Workspace workspace(chain);
  const Image one = make(chain, 50, 1.3, 2, workspace), other = make(chain, 50, std::numbers::pi - 1.3, 2, workspace);
  for (int64_t i = 0; i < kTestCells; ++i)
    for (int64_t j = 0; j < kTestCells; ++j)
      for (int64_t z = 0; z < kTestLayers; ++z)
        EXPECT_FLOAT_EQ(one[static_cast<size_t>((i * kTestCells + j) * kTestLayers + z)],
                        other[static_cast<size_t>((i * kTestCells + kTestCells - 1 - j) * kTestLayers + z)]);
}

TEST(ShowerChain, LookingAtAPartOfTheHaloChangesNoMean) {
  constexpr uint64_t kShowers = 400;
  std::vector<double> means;
  for (const float bound : {1.0F, 0.4F}) {
    const ShowerChain chain(test_parts(bound), "test");
    ShowerChain::Workspace workspace(chain);
    double hits = 0;
    for (uint64_t event = 0; event < kShowers; ++event) {
      const Image image = make(chain, 50, 1.5, event, workspace);
      hits += static_cast<double>(std::ranges::count_if(image, [](float cell) { return cell > 0; }));
    }
    means.push_back(hits / kShowers);
  }
  EXPECT_GT(means[0], 20);
  EXPECT_NEAR(means[1] / means[0], 1, 0.03);
}

TEST(ShowerChain, PartsThatDoNotFitAreRefused) {
  const auto refused = [](const auto& change) {
    ChainParts parts = test_parts();
    change(parts);
    EXPECT_THROW(ShowerChain(std::move(parts), "file"), Error);
  };
  refused([](ChainParts& parts) { parts.detector.sensor_depth.push_back(9); });
  refused([](ChainParts& parts) { parts.detector.sensor_depth[3] = 1e30F; });
  refused([](ChainParts& parts) { parts.detector.middle_depth = std::nanf(""); });
  refused([](ChainParts& parts) { parts.detector.cells.x = 100000; });
  refused([](ChainParts& parts) { parts.network.edges.pop_back(); });
  refused([](ChainParts& parts) { parts.network.hidden = random_dense(8, 8, 1, 1); });
  refused([](ChainParts& parts) { parts.rings.core = 2 * parts.rings.ring; });
  refused([](ChainParts& parts) { parts.mean_by_radius.values.pop_back(); });
  refused([](ChainParts& parts) { std::swap(parts.detector.sensor_depth[0], parts.detector.sensor_depth[2]); });
}

TEST(ShowerChain, PrimariesAlongTheLayersAreRefused) {
  const ShowerChain chain(test_parts(), "test");
  ShowerChain::Workspace workspace(chain);
  for (const auto& [energy, theta] :
       {std::pair{50.0, 0.1}, {50.0, 3.1}, {0.0, 1.5}, {1e30, 1.5}, {-1.0, 1.5}, {std::nan(""), 1.5}})
    EXPECT_THROW(make(chain, energy, theta, 0, workspace), Error) << energy << " " << theta;
}

}  // namespace
}  // namespace linac::chain
