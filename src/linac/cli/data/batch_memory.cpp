#include "linac/cli/data/batch_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"

namespace linac::cli {
namespace {

// NumPy, XLA and TensorFlow take memory as it lies from such addresses on.
constexpr size_t kAlignment = 64;
// A slot is mapped by itself, so it begins with a page.
constexpr size_t kPage = 4096;

size_t rounded_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Rows before the first that is kListEnd throughout: there are only such behind it.
size_t rows_in(const float* list, size_t rows, size_t row_size) {
  const auto ends = [&](size_t row) {
    return std::all_of(list + row * row_size, list + (row + 1) * row_size, [](float x) { return x == kListEnd; });
  };
  size_t low = 0, high = rows;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (ends(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

BatchMemory::BatchMemory(int descriptor, const std::vector<BatchColumn>& columns, int64_t events, int slots)
    : columns_(columns), events_(events) {
  size_t end = 0;
  const auto room = [&](size_t bytes) {
    const size_t begin = end;
    end = rounded_up(end + bytes, kAlignment);
    return begin;
  };
  for (const BatchColumn& column : columns_) {
    Place place{.values = room(static_cast<size_t>(events * column.request.event_values()) * sizeof(float))};
    if (column.ragged) place.offsets = room(static_cast<size_t>(events + 1) * sizeof(int64_t));
    places_.push_back(place);
  }
  slot_bytes_ = rounded_up(std::max<size_t>(end, 1), kPage);
  const size_t size = slot_bytes_ * static_cast<size_t>(slots);
  void* memory = MAP_FAILED;
  if (ftruncate(descriptor, static_cast<off_t>(size)) == 0)
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    throw environment_error(
        fmt::format("[batches] --memory {}: {} slots of {} bytes cannot be had ({}); lower --batch or --slots",
                    descriptor, slots, slot_bytes_, std::strerror(errno)));
  }
  mapped_ = {static_cast<std::byte*>(memory), size};
}

BatchMemory::~BatchMemory() {
  munmap(mapped_.data(), mapped_.size());
}

nlohmann::ordered_json BatchMemory::layout() const {
  auto columns = nlohmann::ordered_json::array();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const BatchColumn& column = columns_[i];
    std::vector<int64_t> shape = column.request.shape;
    if (column.ragged) shape.erase(shape.begin());
    if (column.flat) shape.clear();
    columns.push_back({{"name", column.name}, {"shape", shape}, {"at", places_[i].values}});
    columns.back()["offsets_at"] = column.ragged ? nlohmann::ordered_json(places_[i].offsets) : nullptr;
    columns.back()["classes"] = column.request.texts ? column.request.texts->names : std::vector<std::string>();
  }
  return {{"slot_bytes", slot_bytes_}, {"columns", columns}};
}

void BatchMemory::write(int slot, const data::TableBatch& batch) {
  std::byte* const to = mapped_.data() + static_cast<size_t>(slot) * slot_bytes_;
  LINAC_CHECK(batch.events == events_ && batch.columns.size() == columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::span<const float> values = batch.columns[i];
    if (columns_[i].ragged)
      write_ragged(to, i, values);
    else
      std::memcpy(to + places_[i].values, values.data(), values.size_bytes());
  }
}

void BatchMemory::write_ragged(std::byte* slot, size_t i, std::span<const float> padded) {
  const auto& shape = columns_[i].request.shape;
  const auto rows = static_cast<size_t>(shape[0]), row_size = static_cast<size_t>(shape[1]);
  auto* const values = reinterpret_cast<float*>(slot + places_[i].values);
  auto* const offsets = reinterpret_cast<int64_t*>(slot + places_[i].offsets);
  size_t end = 0;
  offsets[0] = 0;
  for (size_t event = 0; event < static_cast<size_t>(events_); ++event) {
    const float* const list = padded.data() + event * rows * row_size;
    const size_t count = rows_in(list, rows, row_size);
    std::memcpy(values + end * row_size, list, count * row_size * sizeof(float));
    end += count;
    offsets[event + 1] = static_cast<int64_t>(end);
  }
}

}  // namespace linac::cli
