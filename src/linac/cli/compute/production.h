#pragma once
// Makes showers on several threads and writes them in their order, with a progress bar and the showers/s of both: the
// common part of `linac generate` and `linac simulate`.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/thread_pool.h"
#include "linac/cli/compute/primaries.h"
#include "linac/io/data/formats/shower_writer.h"

namespace linac::cli {

/// Showers made by one call of a maker, at most. A maker may key its random numbers by first / kShowersAtOnce.
constexpr int64_t kShowersAtOnce = 16;

struct Showers {
  std::vector<float> images;                // [count][x][y][z] in GeV
  std::vector<std::vector<float>> columns;  // of each of the production's, a number a shower
};

/// Of primaries first ... first + count - 1. Called from the pool's threads; `slot` is below ThreadPool::threads(), and
/// calls of the same slot do not overlap: for scratch memory, never for the result.
using ShowerMaker = std::function<Showers(int64_t first, int64_t count, int slot)>;

struct Production {
  std::string label;  // of the progress bar
  std::string out;
  data::EventShape shape;
  std::vector<std::string> columns;                             // what the maker says of each shower beside its image
  std::vector<std::pair<std::string, std::string>> attributes;  // of the file
  std::string source = {};                                      // the file of what makes them, if there is one
};

/// Writes the file whole or not at all and prints its name, the number of showers, and showers/s. User error if the
/// file is one of those that the showers or their primaries come from.
void produce(const Production& production, const Primaries& primaries, ThreadPool& pool, const ShowerMaker& make);

}  // namespace linac::cli
