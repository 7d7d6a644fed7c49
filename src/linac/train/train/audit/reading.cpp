#include "linac/train/train/audit/reading.h"

#include <span>
#include <vector>

#include "linac/base/base/crc32c.h"
#include "linac/base/base/turned_bit.h"

namespace linac::train {
namespace {

uint32_t digest_of(const std::vector<std::span<const float>>& parts) {
  std::vector<uint32_t> digests;
  for (const std::span<const float> part : parts) digests.push_back(crc32c(std::as_bytes(part)));
  return crc32c(std::as_bytes(std::span(digests)));
}

}  // namespace

uint32_t digest_of(const data::TableBatch& batch) {
  return digest_of(std::vector<std::span<const float>>(batch.columns.begin(), batch.columns.end()));
}

uint32_t digest_of(const data::SampleBatch& batch) {
  return digest_of({batch.image, batch.energy, batch.angle, batch.ecal, batch.numbers});
}

void turn_a_bit(data::TableBatch& batch, const RngKey& key) {
  linac::turn_a_bit(std::as_writable_bytes(std::span(batch.columns.front())), key);
}

void turn_a_bit(data::SampleBatch& batch, const RngKey& key) {
  linac::turn_a_bit(std::as_writable_bytes(std::span(batch.image)), key);
}

}  // namespace linac::train
