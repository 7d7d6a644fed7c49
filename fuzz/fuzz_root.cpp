// A file of any bytes: its folders, trees, RNTuples and all their columns are read, or refused with linac::Error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "linac/io/root/table.h"

namespace {

class MemoryReader : public linac::storage::Reader {
 public:
  explicit MemoryReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  void read(int64_t offset, std::span<std::byte> bytes) override {
    LINAC_CHECK(offset >= 0 && static_cast<size_t>(offset) + bytes.size() <= bytes_.size());
    std::copy_n(bytes_.begin() + offset, bytes.size(), bytes.begin());
  }

 private:
  std::span<const std::byte> bytes_;
};

template <class F>
void refused_or(F&& f) {
  try {
    f();
  } catch (const linac::Error& error) {
    LINAC_CHECK(error.code() == linac::ErrorCode::kData);
  }
}

constexpr int64_t kEvents = 300;
constexpr size_t kColumns = 16;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  refused_or([&] {
    const auto file = std::make_shared<const linac::root::File>(
        std::make_unique<MemoryReader>(std::as_bytes(std::span(data, size))), "fuzz");
    for (const auto& table : linac::root::tables_of(file)) {
      refused_or([&] { table->friends(); });
      refused_or([&] { table->index(); });
      for (size_t i = 0; i < std::min(kColumns, table->columns().size()); ++i) {
        if (!table->columns()[i].refused.empty()) continue;
        refused_or([&] {
          linac::root::Block block;
          table->reader(i)->read(0, std::min(kEvents, table->events()), block);
        });
      }
    }
  });
  return 0;
}
