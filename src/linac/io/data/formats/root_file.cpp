#include "linac/io/data/formats/root_file.h"

namespace linac::data {
namespace {

class SourceReader : public storage::Reader {
 public:
  explicit SourceReader(std::shared_ptr<const storage::Source> source) : source_(std::move(source)) {}
  int64_t size() const override { return source_->size(); }
  void read(int64_t offset, std::span<std::byte> bytes) override { source_->read(offset, bytes); }

 private:
  std::shared_ptr<const storage::Source> source_;
};

}  // namespace

std::shared_ptr<const root::File> open_root_file(const std::shared_ptr<const storage::Source>& source) {
  return std::make_shared<const root::File>(std::make_unique<SourceReader>(source), source->url());
}

}  // namespace linac::data
