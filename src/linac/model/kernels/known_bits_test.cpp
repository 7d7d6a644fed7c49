#include "linac/model/kernels/known_bits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "linac/base/base/turned_bit.h"
#include "linac/model/kernels/fingerprint.h"

namespace linac::kernels {
namespace {

using Results = std::vector<std::vector<float>>;

Results results_of(const KnownPiece& piece, Isa isa) {
  Results results;
  piece.compute(isa, [&](std::span<float> values) { results.emplace_back(values.begin(), values.end()); });
  return results;
}

uint64_t fingerprint_of(const Results& results) {
  Fingerprint fingerprint;
  for (const std::vector<float>& values : results) fingerprint.add(values);
  return fingerprint.value();
}

TEST(KnownBits, EveryInstructionSetComesToThem) {
  for (const KnownPiece& piece : known_pieces()) {
    for (const Isa isa : kIsas) {
      if (!has_isa(isa)) continue;
      EXPECT_EQ(fingerprint_of(results_of(piece, isa)), piece.known(isa)) << piece.name << ", " << to_string(isa);
    }
  }
}

TEST(KnownBits, OneBitOfAnyResultIsSeen) {
  for (const KnownPiece& piece : known_pieces()) {
    Results results = results_of(piece, Isa::kGeneric);
    for (std::vector<float>& values : results) {
      for (uint64_t seed = 0; seed < 6; ++seed) {
        const RngKey key{.seed = seed, .stream = Stream::kAudit};
        turn_a_bit(std::as_writable_bytes(std::span(values)), key);
        EXPECT_NE(fingerprint_of(results), piece.generic) << piece.name << ", seed " << seed;
        turn_a_bit(std::as_writable_bytes(std::span(values)), key);
      }
    }
  }
}

TEST(KnownBits, WhatIsHandedOverMayBeChanged) {
  const KnownPiece& piece = known_pieces().front();
  Fingerprint fingerprint;
  piece.compute(Isa::kGeneric, [&](std::span<float> values) {
    values.back() = 0;
    fingerprint.add(values);
  });
  EXPECT_NE(fingerprint.value(), piece.generic);
}

}  // namespace
}  // namespace linac::kernels
