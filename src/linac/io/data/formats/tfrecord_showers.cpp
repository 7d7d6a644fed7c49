#include "linac/io/data/formats/tfrecord_showers.h"

#include <fmt/format.h>

#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/shower_record.h"
#include "linac/io/data/formats/tfrecord.h"

namespace linac::data {
namespace {

class TfrecordShowers : public SampleFile {
 public:
  TfrecordShowers(const std::filesystem::path& path, std::string name, const std::optional<FileIndex>& index)
      : name_(std::move(name)), source_(path) {
    offsets_ = index ? index->record_offsets : index_records(source_, name_);
    if (offsets_.empty()) throw data_error(fmt::format("[tfrecord] {}: no record in it; write the file again", name_));
    std::vector<std::byte> record;
    read_record(source_, offsets_[0], 0, name_, record);
    shape_ = ShowerRecordParser(name_).parse(record, 0).shape;
  }

  std::string format() const override { return "tfrecord"; }
  int64_t events() const override { return static_cast<int64_t>(offsets_.size()); }
  EventShape shape() const override { return shape_; }
  FileIndex index() const override { return {offsets_}; }

  void read_sample(int64_t event, const ShowerSlot& slot) const override {
    LINAC_CHECK(event >= 0 && event < events());
    std::vector<std::byte> record;
    read_record(source_, offsets_[static_cast<size_t>(event)], static_cast<uint64_t>(event), name_, record);
    ShowerRecordParser parser(name_);
    const RecordedShower shower = parser.parse(record, event, shape_);
    std::memcpy(slot.image, shower.cells.data(), shower.cells.size());
    *slot.energy = shower.energy;
    *slot.angle = shower.angle;
    *slot.ecal = shower.ecal;
  }

 private:
  std::string name_;
  FileSource source_;
  std::vector<uint64_t> offsets_;
  EventShape shape_;
};

}  // namespace

std::unique_ptr<const ShowerFile> open_tfrecord_showers(const std::filesystem::path& path, const std::string& name,
                                                        const Fields& /*fields*/,
                                                        const std::optional<FileIndex>& index) {
  return std::make_unique<TfrecordShowers>(path, name, index);
}

std::string encode_tfrecord_shower(const ShowerBlock& block, int64_t event) {
  LINAC_CHECK(block.units == Units::kSamples && event < block.events());
  const auto slot = static_cast<size_t>(event);
  const auto first = block.image.begin() + event * block.shape.cells();
  Example example;
  example["X"].floats.assign(first, first + block.shape.cells());
  example["Y"].floats = {block.energy[slot]};
  example["ang"].floats = {block.angle[slot]};
  example["ecal"].floats = {block.ecal[slot]};
  example["shape"].integers = {block.shape.x, block.shape.y, block.shape.z};
  return tfrecord_frame(encode_example(example));
}

}  // namespace linac::data
