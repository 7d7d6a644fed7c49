#include "linac/model/primaries/trained_range.h"

#include <gtest/gtest.h>

#include <array>

#include "linac/base/base/error.h"

namespace linac::primaries {
namespace {

const TrainedRange kRange{.energy_gev = {10, 100}, .theta_rad = {1, 2}};

TEST(TrainedRange, TravelsInNotes) {
  nlohmann::json notes{{"power", 0.85}};
  EXPECT_FALSE(range_in(notes, "a.keras"));
  add_range(std::nullopt, notes);
  EXPECT_EQ(notes.size(), 1U);
  add_range(kRange, notes);
  const auto found = range_in(nlohmann::json::parse(notes.dump()), "a.keras");
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(*found), "10-100 GeV, 1-2 rad");
  notes["trained_on"]["energy_gev"] = "much";
  EXPECT_THROW(range_in(notes, "a.keras"), Error);
}

TEST(TrainedRange, SaysWhatIsBeyond) {
  const std::array<float, 3> inside{10, 50, 101}, some{5, 50, 400}, angles{1, 1.5, 2.01}, wide{0.5, 1.5, 2};
  EXPECT_EQ(beyond(kRange, inside, angles), "") << "a little to either side is inside";
  EXPECT_EQ(beyond(kRange, some, angles), "2 of 3 energies (5-400 GeV)");
  EXPECT_EQ(beyond(kRange, some, wide), "2 of 3 energies (5-400 GeV), 1 of 3 angles (0.5-0.5 rad)");
}

TEST(TrainedRange, OneEnergyIsARange) {
  const TrainedRange point{.energy_gev = {50, 50}, .theta_rad = {1.57, 1.57}};
  const std::array<float, 1> same{50}, other{51}, angle{1.57F};
  EXPECT_EQ(beyond(point, same, angle), "");
  EXPECT_EQ(beyond(point, other, angle), "1 of 1 energies (51-51 GeV)");
}

}  // namespace
}  // namespace linac::primaries
