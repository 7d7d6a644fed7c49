#include "linac/train/trained/shower_generator.h"

#include <gtest/gtest.h>

namespace linac::trained {
namespace {

const char* const kModel = "models/cell_chain-clic.chain";

TEST(ShowerGenerator, AShowerIsTheSameAloneAndAmongOthers) {
  const ShowerGenerator generator{kModel};
  EXPECT_EQ(generator.shape(), (EventShape{51, 51, 25}));
  ASSERT_TRUE(generator.range());
  EXPECT_EQ(to_string(*generator.range()), "10-100 GeV, 1.047-2.094 rad");
  const std::vector<float> energy{20, 50, 90}, theta{1.2F, 1.57F, 2};
  const std::vector<float> all = generator.make(energy, theta, 7, 4);
  const std::vector<float> first = generator.make(std::span(energy).first(1), std::span(theta).first(1), 7, 4);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
  EXPECT_NE(generator.make(std::span(energy).first(1), std::span(theta).first(1), 8, 4), first);
}

TEST(ShowerGenerator, TheBarycentreLiesInTheMiddleCell) {
  const ShowerGenerator generator{kModel};
  const std::vector<float> energy{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
  for (const float angle : {1.05F, 1.57F, 2.09F}) {
    const std::vector<float> theta(energy.size(), angle), images = generator.make(energy, theta, 1, 0);
    for (size_t event = 0; event < energy.size(); ++event) {
      double sum = 0, x = 0, y = 0;
      const float* cell = &images[event * static_cast<size_t>(generator.shape().cells())];
      for (int64_t i = 0; i < generator.shape().x; ++i) {
        for (int64_t j = 0; j < generator.shape().y; ++j) {
          for (int64_t z = 0; z < generator.shape().z; ++z, ++cell) {
            sum += *cell;
            x += *cell * (static_cast<double>(i) + 0.5);
            y += *cell * (static_cast<double>(j) + 0.5);
          }
        }
      }
      // What falls outside of the image moves it by less than a tenth.
      EXPECT_NEAR(sum / static_cast<double>(energy[event]), 0.021, 0.007) << event << " " << angle;
      EXPECT_NEAR(x / sum, 25.5, 0.6) << event << " " << angle;
      EXPECT_NEAR(y / sum, 25.5, 0.6) << event << " " << angle;
    }
  }
}

}  // namespace
}  // namespace linac::trained
