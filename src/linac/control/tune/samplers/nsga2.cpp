// NSGA-II (Deb, Pratap, Agarwal and Meyarivan, IEEE Trans. Evol. Comput. 6, 2002) with a steady state (Durillo, Nebro,
// Luna and Alba, EMO 2009): the parents are the best of all that was told, by front and crowding, so a result counts
// from the next suggestion on, there are no generations to wait for, and the population follows from the history.

#include <algorithm>
#include <tuple>

#include "linac/control/tune/pareto.h"
#include "linac/control/tune/samplers/genetic.h"
#include "linac/control/tune/samplers/samplers.h"

namespace linac::tune {
namespace {

constexpr uint32_t kUse = 12;
constexpr size_t kPopulation = GeneticSampler::kPopulation;

struct Parent {
  const Trial* trial;
  size_t front;
  double crowding;
  bool operator<(const Parent& other) const {
    return std::tuple(front, -crowding) < std::tuple(other.front, -other.crowding);
  }
};

/// The best complete trials, the best first.
std::vector<Parent> population_of(const History& history) {
  const CompleteTrials complete(history);
  const std::vector<Losses>& rows = complete.losses;
  const std::vector<size_t> fronts = fronts_of(rows);
  std::vector<std::vector<size_t>> members;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (fronts[i] >= members.size()) members.resize(fronts[i] + 1);
    members[fronts[i]].push_back(i);
  }
  std::vector<Parent> population;
  for (size_t front = 0; front < members.size() && population.size() < kPopulation; ++front) {
    std::vector<Losses> of_front;
    for (const size_t i : members[front]) of_front.push_back(rows[i]);
    const std::vector<double> crowding = crowding_of(of_front);
    for (size_t k = 0; k < of_front.size(); ++k)
      population.push_back({complete.trials[members[front][k]], front, crowding[k]});
  }
  std::stable_sort(population.begin(), population.end());
  population.resize(std::min(population.size(), kPopulation));
  return population;
}

const Trial* tournament(const std::vector<Parent>& population, Draws& draws) {
  const size_t one = draws.below(population.size()), other = draws.below(population.size());
  return population[std::min(one, other)].trial;
}

class Nsga2 : public GeneticSampler {
 public:
  explicit Nsga2(const SamplerSettings& settings) : GeneticSampler(settings, kUse) {}

 private:
  std::pair<const Trial*, const Trial*> parents(const History& history, const Ask&, Draws& draws) const override {
    const std::vector<Parent> population = population_of(history);
    const Trial* const one = tournament(population, draws);
    return {one, tournament(population, draws)};
  }
};

}  // namespace

std::unique_ptr<Sampler> make_nsga2(const SamplerSettings& settings) {
  return std::make_unique<Nsga2>(settings);
}

}  // namespace linac::tune
