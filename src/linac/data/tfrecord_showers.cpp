#include "linac/data/tfrecord_showers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/tfrecord_frame.h"
#include "linac/data/example.h"
#include "linac/data/tfrecord.h"

namespace linac::data {
namespace {

constexpr EventShape kUsualShape{51, 51, 25};

std::string describe(const Feature& feature) {
  if (!feature.integers.empty()) return fmt::format("{} integers", feature.integers.size());
  if (!feature.bytes.empty()) return fmt::format("{} byte strings", feature.bytes.size());
  return fmt::format("{} floats", feature.floats.size());
}

class TfrecordShowers : public ShowerFile {
 public:
  TfrecordShowers(const std::filesystem::path& path, std::string name, const std::optional<FileIndex>& index)
      : name_(std::move(name)), source_(path) {
    offsets_ = index ? index->record_offsets : index_records(source_, name_);
    if (offsets_.empty()) throw data_error(fmt::format("[tfrecord] {}: no record in it; write the file again", name_));
    shape_ = shape_of(parse(0));
  }

  std::string format() const override { return "tfrecord"; }
  int64_t events() const override { return static_cast<int64_t>(offsets_.size()); }
  EventShape shape() const override { return shape_; }
  Units units() const override { return Units::kSamples; }
  FileIndex index() const override { return {offsets_}; }

  void read(int64_t first, int64_t count, ShowerBlock& out) const override {
    LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
    out.resize(count, shape_, Units::kSamples);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t record = first + i;
      const Example example = parse(record);
      const std::vector<float>& cells = floats(example, "X", record);
      if (shape_of(example, record) != shape_) {
        fail(record, fmt::format("'X' has {} cells of the shape {}, the file's first record has {}", cells.size(),
                                 to_string(shape_of(example, record)), to_string(shape_)));
      }
      std::copy(cells.begin(), cells.end(), out.image.begin() + i * shape_.cells());
      const auto slot = static_cast<size_t>(i);
      out.energy[slot] = number(example, "Y", record);
      out.angle[slot] = number(example, "ang", record);
      out.ecal[slot] = number(example, "ecal", record);
    }
  }

 private:
  [[noreturn]] void fail(int64_t record, const std::string& what) const {
    throw data_error(fmt::format("[tfrecord] {}: record {}: {}", name_, record, what));
  }

  Example parse(int64_t record) const {
    std::vector<std::byte> bytes;
    read_record(source_, offsets_[static_cast<size_t>(record)], static_cast<uint64_t>(record), name_, bytes);
    try {
      return parse_example({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    } catch (const Error& error) {
      fail(record, error.what());
    }
  }

  const std::vector<float>& floats(const Example& example, const std::string& field, int64_t record) const {
    const auto found = example.find(field);
    if (found != example.end() && !found->second.floats.empty()) return found->second.floats;
    std::vector<std::string> names;
    for (const auto& [name, feature] : example) names.push_back(fmt::format("{} ({})", name, describe(feature)));
    fail(record, fmt::format("no float list '{}' (found: {}); a converted shower file has X, Y, ang and ecal", field,
                             names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
  }

  float number(const Example& example, const std::string& field, int64_t record) const {
    const std::vector<float>& values = floats(example, field, record);
    if (values.size() != 1) fail(record, fmt::format("'{}' has {} values, wanted is one", field, values.size()));
    return values[0];
  }

  EventShape shape_of(const Example& example, int64_t record = 0) const {
    const size_t cells = floats(example, "X", record).size();
    const auto stated = example.find("shape");
    EventShape shape = kUsualShape;
    if (stated != example.end()) {
      const std::vector<int64_t>& axes = stated->second.integers;
      const auto plausible = [](int64_t axis) { return axis > 0 && axis <= kCellsMax; };
      if (axes.size() != 3 || !std::all_of(axes.begin(), axes.end(), plausible) || axes[0] > kCellsMax / axes[1] ||
          axes[0] * axes[1] > kCellsMax / axes[2]) {
        fail(record, fmt::format("'shape' is [{}], wanted are three numbers of cells", fmt::join(axes, ", ")));
      }
      shape = {axes[0], axes[1], axes[2]};
    }
    if (static_cast<int64_t>(cells) == shape.cells()) return shape;
    if (stated != example.end()) {
      fail(record, fmt::format("'X' has {} cells, its 'shape' says {}", cells, to_string(shape)));
    }
    fail(record, fmt::format("'X' has {} cells, not {} = {}; add the integer list 'shape' to the records", cells,
                             to_string(shape), shape.cells()));
  }

  std::string name_;
  FileSource source_;
  std::vector<uint64_t> offsets_;
  EventShape shape_;
};

}  // namespace

std::unique_ptr<const ShowerFile> open_tfrecord_showers(const std::filesystem::path& path, const std::string& name,
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
