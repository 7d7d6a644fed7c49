#pragma once
// Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", SC11). A number is a pure function of (key, index): no hidden state, so any worker can draw any replica's
// numbers. All functions are pure and thread-safe, and give the same bits on every instruction set.

#include <array>
#include <cstdint>
#include <span>

namespace linac {

/// What a stream of numbers is for. The values are part of the numerics contract: never renumber.
enum class Stream : uint32_t {
  kShuffle = 1,
  kInit = 2,
  kNoise = 3,  // the generator's latent vector
  kLabelFlip = 4,
  kDropout = 5,
  kSample = 6,     // linac generate: energies, angles, noise
  kShower = 7,     // linac simulate: one shower; step and epoch hold its number
  kBootstrap = 8,  // weights of a sample's events; step and epoch hold the event's number
  kTune = 9,       // suggestions of a study; step and epoch hold the trial's number
  kCells = 10,     // which empty cells a cell_chain learns from, and which showers are mirrored
  kAudit = 11,     // which steps are audited, and by whom; and bits that a fault of a test turns over
  kTurns = 12,     // the order in which groups that take turns meet the weights of all
};

/// Names one independent sequence. `lane` separates uses within a stream (phase of the step, layer, tensor).
struct RngKey {
  uint64_t seed = 0;
  Stream stream = Stream::kShuffle;
  uint32_t lane = 0;
  uint32_t epoch = 0;
  uint32_t step = 0;
  uint32_t replica = 0;
};

/// Where a sequence lies among Philox's: numbers 4 b ... 4 b + 3 of it are philox({b, b >> 32, counter...}, key). For
/// code that draws the numbers in an order of its own.
struct PhiloxSequence {
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 2> counter;  // the upper words
};
PhiloxSequence philox_sequence(const RngKey& key);

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Numbers `first`, `first + 1`, ... of the sequence `key`; `first` must be a multiple of 4.
void fill_bits(const RngKey& key, uint64_t first, std::span<uint32_t> out);
/// Uniform in [0, 1), 24 bits; from number `first` on, a multiple of 4.
void fill_uniform(const RngKey& key, std::span<float> out, uint64_t first = 0);
/// Standard normal, by Box and Muller in double precision.
void fill_normal(const RngKey& key, std::span<float> out);
/// A permutation of 0..n-1 by Fisher and Yates, `order.size()` = n.
void fill_permutation(const RngKey& key, std::span<int64_t> order);

}  // namespace linac
