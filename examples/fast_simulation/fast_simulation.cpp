// Showers in a program of one's own, as a fast simulation of an experiment would take them: one at a time, and many by
// several threads.
//
//   fast_simulation MODEL.chain SEED THREADS < primaries      a line each: energy in GeV, theta in radians
//
// writes a line for each cell that is hit: number of the shower, x, y, layer, energy in GeV (as %a: every bit of it).

#include <linac/fastsim/showers.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace {

struct Primary {
  double energy_gev, theta;
};
using Cells = std::vector<linac::Showers::Cell>;

// One shower: what is called for a particle that enters the calorimeter. A real one would put each cell into the frame
// of the detector here, and add its energy to what is there.
Cells simulate(const linac::Showers& showers, const Primary& primary, uint64_t seed, uint64_t number) {
  Cells cells;
  showers.draw(primary.energy_gev, primary.theta, seed, number, cells);
  return cells;
}

// Many: a shower does not depend on others, so threads share them out as they like.
std::vector<Cells> simulate(const linac::Showers& showers, const std::vector<Primary>& primaries, uint64_t seed,
                            size_t threads) {
  std::vector<Cells> all(primaries.size());
  std::vector<std::thread> workers;
  for (size_t first = 0; first < threads; ++first)
    workers.emplace_back([&, first] {
      for (size_t i = first; i < primaries.size(); i += threads) all[i] = simulate(showers, primaries[i], seed, i);
    });
  for (std::thread& worker : workers) worker.join();
  return all;
}

}  // namespace

int main(int count, char** words) try {
  if (count != 4) {
    std::fprintf(stderr, "usage: fast_simulation MODEL.chain SEED THREADS < primaries\n");
    return 2;
  }
  const linac::Showers showers(words[1]);
  const linac_showers_info& info = showers.info();
  std::fprintf(stderr, "%d x %d cells, %d layers; trained on %g-%g GeV, theta %g-%g\n", info.cells_x, info.cells_y,
               info.layers, info.energy_low_gev, info.energy_high_gev, info.theta_low, info.theta_high);
  std::vector<Primary> primaries;
  for (Primary one; std::scanf("%lf %lf", &one.energy_gev, &one.theta) == 2;) {
    // The model refuses what it was not trained on; a program may ask beforehand, and take its full simulation there.
    if (!showers.knows(one.energy_gev, one.theta)) {
      std::fprintf(stderr, "%g GeV at theta %g is for the full simulation\n", one.energy_gev, one.theta);
      continue;
    }
    primaries.push_back(one);
  }
  const auto all =
      simulate(showers, primaries, std::strtoull(words[2], nullptr, 10), std::strtoul(words[3], nullptr, 10));
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& cell : all[i])
      std::printf("%zu %d %d %d %a\n", i, cell.x, cell.y, cell.layer, static_cast<double>(cell.energy_gev));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
