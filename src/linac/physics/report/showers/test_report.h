#pragma once
// For the tests of this module only: small made-up samples of an odd shape and reports about them.

#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "linac/physics/report/showers/report.h"

namespace linac::report::testing {

constexpr EventShape kShape{10, 10, 45};
constexpr double kThresholdGev = 1e-4;

struct SampleRecipe {
  uint32_t lane = 0;
  int events = 60;
  double scale = 1;  // of all energies; 0: empty showers
  int examples = 2;
  int bootstraps = 6, halves = 4;
};

/// Showers of 10 to 100 GeV that deposit about a fifth of it around the middle of the image, fluctuating.
inline physics::Sample make_sample(const SampleRecipe& recipe) {
  physics::SampleOptions options{.energy_edges = {10, 40, 100},
                                 .angle_edges = {1, 1.5, 2},
                                 .bootstraps = recipe.bootstraps,
                                 .halves = recipe.halves,
                                 .lane = recipe.lane,
                                 .wanted = {}};
  options.wanted.resize(static_cast<size_t>(recipe.examples));
  for (physics::Shower& wanted : options.wanted) wanted.energy_gev = 50;
  physics::Sample sample(kShape, options);
  physics::Observer observer(kShape, kThresholdGev);
  std::mt19937 random(recipe.lane + 1);  // the same everywhere, unlike the standard's distributions
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  std::vector<float> image(static_cast<size_t>(kShape.cells()));
  for (int event = 0; event < recipe.events; ++event) {
    const double energy = 10 + 90 * uniform(), theta = 1 + uniform(), depth = 15 + 10 * uniform();
    for (int64_t i = 0; i < kShape.cells(); ++i) {
      const auto x = static_cast<double>(i / (kShape.y * kShape.z)), y = static_cast<double>(i / kShape.z % kShape.y);
      const auto z = static_cast<double>(i % kShape.z);
      const double radius2 = (x - 4.5) * (x - 4.5) + (y - 4.5) * (y - 4.5);
      const double shape = std::exp(-radius2 / 3 - (z - depth) * (z - depth) / 50) / 1000;
      image[static_cast<size_t>(i)] = static_cast<float>(recipe.scale * energy * shape * uniform());
    }
    sample.add(observer.observe(image, energy, theta));
  }
  return sample;
}

/// A report with its samples.
struct Case {
  physics::Sample reference, sample;
  ShowerReport report;

  Case(const SampleRecipe& first, const SampleRecipe& second)
      : reference(make_sample(first)), sample(make_sample(second)) {
    report.title = "a run";
    report.reference_name = "Geant4";
    report.sample_name = "generated";
    report.reference = &reference;
    report.sample = &sample;
    report.hit_threshold_gev = kThresholdGev;
    report.figures = physics::compare(reference, sample);
    report.facts = {{"file", "showers.h5"}};
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  void judge(const physics::Gate& gate) {
    report.gated = true;
    report.gate_name = "gate.yaml";
    report.verdicts = physics::judge(gate, report.figures);
  }
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace linac::report::testing
