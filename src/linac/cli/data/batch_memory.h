#pragma once
// Batches in memory that another process has mapped too: some slots of one size, each with room for one batch. Whose
// turn a slot is, the two processes tell each other elsewhere (batch_link.h). One thread.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "linac/cli/data/batch_columns.h"

namespace linac::cli {

class BatchMemory {
 public:
  /// Gives the memory behind `descriptor`, of memfd_create(2), its size and maps it. Environment error where that
  /// cannot be. `events`: of a batch.
  BatchMemory(int descriptor, const std::vector<BatchColumn>& columns, int64_t events, int slots);
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  /// {"slot_bytes", "columns": [{"name", "shape": of an event or of a ragged column's row, "at", "offsets_at": null or
  /// of a ragged one, "classes"}]}: places in bytes from the slot's first. Values are float32, offsets int64, one more
  /// than there are events.
  nlohmann::ordered_json layout() const;

  void write(int slot, const data::TableBatch& batch);

 private:
  struct Place {
    size_t values = 0, offsets = 0;
  };
  void write_ragged(std::byte* slot, size_t i, std::span<const float> padded);

  const std::vector<BatchColumn> columns_;
  const int64_t events_;
  std::vector<Place> places_;
  size_t slot_bytes_ = 0;
  std::span<std::byte> mapped_;
};

}  // namespace linac::cli
