#pragma once
// The events of a replica as they were read: their digest, by which an audit tells who read otherwise from who computed
// otherwise, and a bit of them turned over. Pure, thread-safe.

#include <cstdint>

#include "linac/base/base/rng.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/showers.h"

namespace linac::train {

/// CRC-32C.
uint32_t digest_of(const data::TableBatch& batch);
uint32_t digest_of(const data::SampleBatch& batch);

/// Of a batch that has values; which bit follows from `key`.
void turn_a_bit(data::TableBatch& batch, const RngKey& key);
void turn_a_bit(data::SampleBatch& batch, const RngKey& key);

}  // namespace linac::train
