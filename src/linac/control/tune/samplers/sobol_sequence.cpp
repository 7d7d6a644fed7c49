#include "linac/control/tune/samplers/sobol_sequence.h"

#include <boost/random/sobol.hpp>

#include "linac/base/base/rng.h"

namespace linac::tune {
namespace {

constexpr uint32_t kScramble =
    0;  // the lane of its keys; the other lanes of the stream belong to Draws with an attempt

uint32_t reversed(uint32_t bits) {
  bits = (bits & 0x55555555U) << 1 | (bits >> 1 & 0x55555555U);
  bits = (bits & 0x33333333U) << 2 | (bits >> 2 & 0x33333333U);
  bits = (bits & 0x0F0F0F0FU) << 4 | (bits >> 4 & 0x0F0F0F0FU);
  bits = (bits & 0x00FF00FFU) << 8 | (bits >> 8 & 0x00FF00FFU);
  return bits << 16 | bits >> 16;
}

// Each bit is flipped or not by a hash of the key and of the bits above it.
uint32_t scrambled(uint32_t bits, uint32_t key) {
  bits = reversed(bits);
  bits += key;
  bits ^= bits * 0x6C50B47CU;
  bits ^= bits * 0xB82F1E52U;
  bits ^= bits * 0xC7AFE638U;
  bits ^= bits * 0x8D22F6E6U;
  return reversed(bits);
}

std::vector<double> points_from(uint64_t seed, uint64_t first, uint64_t count, size_t dimensions, uint32_t sequence) {
  std::vector<uint32_t> keys((dimensions + 3) / 4 * 4);
  fill_bits({.seed = seed, .stream = Stream::kTune, .lane = kScramble, .replica = ~sequence}, 0, keys);
  boost::random::sobol engine(dimensions);
  // Boost leaves out the first point, 0, without which the first 2^k points are not even.
  if (first > 0) engine.discard((first - 1) * dimensions);
  std::vector<double> points(count * dimensions);
  for (size_t i = 0; i < points.size(); ++i) {
    const bool is_first = first == 0 && i < dimensions;
    const auto bits = is_first ? 0U : static_cast<uint32_t>(engine() >> 32);
    points[i] = (static_cast<double>(scrambled(bits, keys[i % dimensions])) + 0.5) * 0x1p-32;
  }
  return points;
}

}  // namespace

std::vector<double> sobol_point(uint64_t seed, uint64_t index, size_t dimensions, uint32_t sequence) {
  return points_from(seed, index, 1, dimensions, sequence);
}

std::vector<double> sobol_points(uint64_t seed, uint64_t count, size_t dimensions, uint32_t sequence) {
  return points_from(seed, 0, count, dimensions, sequence);
}

}  // namespace linac::tune
