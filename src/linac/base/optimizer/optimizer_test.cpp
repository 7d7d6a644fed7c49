#include "linac/base/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace linac::optimizer {
namespace {

TEST(Optimizer, RmspropFollowsItsDefinition) {
  Settings settings;
  Optimizer optimizer(settings, 2);
  std::vector<float> weights{1.0F, -2.0F};
  const std::vector<float> gradient{0.5F, -4.0F};
  double velocity[2] = {0, 0}, expected[2] = {1, -2};
  for (int step = 0; step < 3; ++step) {
    optimizer.step(weights, gradient, 0.01);
    for (int i = 0; i < 2; ++i) {
      velocity[i] = 0.9 * velocity[i] + 0.1 * gradient[i] * gradient[i];
      expected[i] -= 0.01 * gradient[i] / std::sqrt(velocity[i] + 1e-7);
    }
  }
  EXPECT_NEAR(weights[0], expected[0], 1e-6);
  EXPECT_NEAR(weights[1], expected[1], 1e-6);
}

TEST(Optimizer, AdamFirstStepIsTheRateTimesTheSign) {
  Settings settings;
  settings.name = "adam";
  Optimizer optimizer(settings, 2);
  std::vector<float> weights{0, 0};
  optimizer.step(weights, std::vector<float>{3.0F, -0.02F}, 0.1);
  // m = (1 - beta_1) g, v = (1 - beta_2) g^2, rate' = rate sqrt(1 - beta_2) / (1 - beta_1): rate' m / (sqrt(v) +
  // epsilon).
  const double root = std::sqrt(1 - settings.beta_2);
  EXPECT_NEAR(weights[0], -0.1 / (1 + settings.epsilon / (3 * root)), 1e-6);
  EXPECT_NEAR(weights[1], 0.1 / (1 + settings.epsilon / (0.02 * root)), 1e-6);
}

// Kingma and Ba, "Adam" (arXiv:1412.6980), with Keras's epsilon, in doubles.
TEST(Optimizer, AdamIsWithinRoundingOfItsDefinition) {
  for (const double beta_2 : {0.999, 0.9999}) {
    Settings settings;
    settings.name = "adam";
    settings.beta_2 = beta_2;
    Optimizer optimizer(settings, 1);
    double mean = 0, square = 0, power_1 = 1, power_2 = 1;
    for (int step = 0; step < 200; ++step) {
      const float gradient = std::sin(static_cast<float>(7 * step)) + 0.3F;
      mean += (gradient - mean) * (1 - settings.beta_1);
      square += (static_cast<double>(gradient) * gradient - square) * (1 - beta_2);
      power_1 *= settings.beta_1;
      power_2 *= beta_2;
      const double expected = -mean * std::sqrt(1 - power_2) / (1 - power_1) / (std::sqrt(square) + settings.epsilon);
      std::vector<float> weight{0};
      optimizer.step(weight, std::vector<float>{gradient}, 1);
      EXPECT_NEAR(weight[0], expected, 1e-6) << "step " << step << " of beta_2 = " << beta_2;
    }
  }
}

// What an average takes of the new value is 1 - decay, to the last bit but one; 1 - 0.9999F is off by 1e-4.
TEST(Optimizer, AveragesTakeWhatTheirDecayLeaves) {
  const std::map<std::string, std::map<std::string, double>> shares{
      {"rmsprop", {{"velocity", 0.25}, {"mean_gradient", 0.5}}},
      {"adam", {{"momentum", 0.5}, {"velocity", 0.25}}},
      {"adamw", {{"momentum", 0.5}, {"velocity", 0.25}}},
      {"adamax", {{"momentum", 0.5}}},
      {"nadam", {{"momentum", 0.5}, {"velocity", 0.25}}},
      {"adadelta", {{"accumulated_gradient", 0.25}}},
      {"lion", {{"momentum", 0.5}}}};
  for (const auto& [name, slots] : shares) {
    Settings settings;
    settings.name = name;
    settings.rho = settings.beta_1 = settings.beta_2 = 0.9999;
    settings.centered = true;
    Optimizer optimizer(settings, 1);
    std::vector<float> weight{0};
    optimizer.step(weight, std::vector<float>{0.5F}, 0.1);
    size_t found = 0;
    for (const auto& slot : optimizer.slots()) {
      const auto share = slots.find(slot.name);
      if (share == slots.end()) continue;
      ++found;
      EXPECT_NEAR(slot.values[0] / (share->second * 1e-4), 1, 3e-7) << name << ": " << slot.name;
    }
    EXPECT_EQ(found, slots.size()) << name;
  }
}

TEST(Optimizer, GlobalNormIsClipped) {
  Settings settings;
  settings.name = "adam";
  settings.global_clipnorm = 1;
  Optimizer optimizer(settings, 2);
  std::vector<float> weights{0, 0};
  optimizer.step(weights, std::vector<float>{3.0F, 4.0F}, 0.1);
  // The mean after one step is (1 - beta_1) times the clipped gradient (0.6, 0.8).
  EXPECT_NEAR(optimizer.slots()[0].values[0], 0.06, 1e-6);
  EXPECT_NEAR(optimizer.slots()[0].values[1], 0.08, 1e-6);
}

TEST(Optimizer, ValuesAreClipped) {
  Settings settings;
  settings.clipvalue = 0.5;
  Optimizer optimizer(settings, 2);
  std::vector<float> weights{0, 0};
  optimizer.step(weights, std::vector<float>{3.0F, -0.25F}, 0.1);
  EXPECT_NEAR(optimizer.slots()[0].values[0], 0.1 * 0.25, 1e-7);
  EXPECT_NEAR(optimizer.slots()[0].values[1], 0.1 * 0.0625, 1e-7);
}

// Every optimiser makes a parabola's minimum nearer, whatever it keeps.
TEST(Optimizer, EachOfTheTableDescends) {
  for (const std::string& name : names()) {
    Settings settings;
    settings.name = name;
    settings.momentum = 0.5;
    settings.amsgrad = settings.centered = true;
    Optimizer optimizer(settings, 1);
    EXPECT_EQ(optimizer.slots().size(), find(name)->slots(settings).size());
    std::vector<float> weights{2};
    for (int step = 0; step < 200; ++step) optimizer.step(weights, std::vector<float>{2 * weights[0]}, 0.01);
    EXPECT_LT(std::abs(weights[0]), 2) << name;
  }
}

TEST(Optimizer, OwnSettingsAreFieldsOfTheSettings) {
  for (const Kind& kind : kinds()) {
    Settings settings;
    settings.name = kind.name;
    std::vector<std::string> visited;
    visit_own_settings(settings, [&](const char* key, const auto&) { visited.emplace_back(key); });
    EXPECT_EQ(visited.size(), kind.own_settings.size()) << kind.name;
  }
}

TEST(Optimizer, SaysWhichSettingsItDoesNotTake) {
  Settings settings;
  for (const std::string& name : names()) {
    settings.name = name;
    EXPECT_TRUE(without_effect(settings).empty()) << name;
  }
  settings.name = "adam";
  settings.momentum = 0.9;
  settings.beta_2 = 0.99;
  settings.weight_decay = 0.1;
  settings.centered = true;
  EXPECT_EQ(without_effect(settings), (std::vector<std::string>{"momentum", "centered"}));
}

}  // namespace
}  // namespace linac::optimizer
