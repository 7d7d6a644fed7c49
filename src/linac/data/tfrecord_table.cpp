// Records that are tf.train.Examples: a column is a float or integer list, its rows one after the other.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/plural.h"
#include "linac/data/example.h"
#include "linac/data/table_reader.h"
#include "linac/data/tfrecord.h"

namespace linac::data {
namespace {

constexpr size_t kBlockValues = size_t{4} << 20;
constexpr size_t kBlockEventsMax = 4096;

class TfrecordTable : public TableReader {
 public:
  TfrecordTable(const std::filesystem::path& path, std::string name, std::vector<WantedColumn> columns)
      : name_(std::move(name)), source_(path), columns_(std::move(columns)) {
    offsets_ = index_records(source_, name_);
    LINAC_CHECK(!offsets_.empty());  // an empty file has no format
    const Example first = parse(0);
    for (const WantedColumn& column : columns_) {
      codes_.emplace_back(name_, column.name);
      const Feature& feature = find(first, column, 0);
      stored_.push_back({.words = describe(feature), .is_text = !feature.bytes.empty()});
    }
  }

  /// Of the first record.
  std::vector<std::string> features() { return described(parse(0)); }
  std::vector<std::string> of_texts() {
    std::vector<std::string> names;
    for (const auto& [name, feature] : parse(0))
      if (feature.bytes.size() == 1) names.push_back(name);
    return names;
  }

  int64_t events() const override { return static_cast<int64_t>(offsets_.size()); }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    out.assign(columns_.size(), {});
    size_t values = 0;
    for (size_t events = 0; next_ < offsets_.size() && events < kBlockEventsMax && values < kBlockValues; ++events) {
      const Example example = parse(next_);
      for (size_t i = 0; i < columns_.size(); ++i) values += append(find(example, columns_[i], next_), i, out[i]);
      ++next_;
    }
  }

 private:
  static std::string describe(const Feature& feature) {
    if (!feature.integers.empty())
      return fmt::format("a list of {}", plural(static_cast<int64_t>(feature.integers.size()), "integer"));
    if (!feature.bytes.empty())
      return fmt::format("a list of {}", plural(static_cast<int64_t>(feature.bytes.size()), "byte string"));
    return fmt::format("a list of {}", plural(static_cast<int64_t>(feature.floats.size()), "float"));
  }

  static std::vector<std::string> described(const Example& example) {
    std::vector<std::string> names;
    for (const auto& [name, feature] : example) names.push_back(fmt::format("{} ({})", name, describe(feature)));
    return names;
  }

  [[noreturn]] void fail(size_t record, const std::string& what) const {
    throw data_error(fmt::format("[tfrecord] {}: record {}: {}", name_, record, what));
  }

  Example parse(size_t record) {
    read_record(source_, offsets_[record], record, name_, bytes_);
    try {
      return parse_example({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()});
    } catch (const Error& error) {
      fail(record, error.what());
    }
  }

  const Feature& find(const Example& example, const WantedColumn& column, size_t record) const {
    const auto found = example.find(column.name);
    if (found != example.end()) {
      if (!found->second.bytes.empty() && !column.texts) refuse_texts(name_, column.name, describe(found->second));
      return found->second;
    }
    const std::vector<std::string> names = described(example);
    fail(record, fmt::format("no column '{}' (found: {}); name one of these", column.name,
                             names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
  }

  /// The number of values appended.
  size_t append(const Feature& feature, size_t column, RaggedColumn& out) {
    if (stored_[column].is_text || !feature.bytes.empty()) return append_text(feature, column, out);
    const size_t count = feature.floats.size() + feature.integers.size();
    out.rows.push_back(rows_of_list(name_, columns_[column], count, static_cast<int64_t>(next_)));
    out.values.insert(out.values.end(), feature.floats.begin(), feature.floats.end());
    for (const int64_t value : feature.integers) out.values.push_back(static_cast<float>(value));
    return count;
  }

  size_t append_text(const Feature& feature, size_t column, RaggedColumn& out) {
    const auto event = static_cast<int64_t>(next_);
    if (!stored_[column].is_text || feature.bytes.size() != 1) {
      codes_[column].refuse(event, fmt::format("is stored as {}; as in the first event, every one needs one {}",
                                               describe(feature), stored_[column].is_text ? "text" : "number"));
    }
    out.rows.push_back(1);
    out.values.push_back(codes_[column].code(feature.bytes.front(), event));
    return 1;
  }

  std::string name_;
  FileSource source_;
  std::vector<WantedColumn> columns_;
  std::vector<StoredColumn> stored_;
  std::vector<uint64_t> offsets_;
  std::vector<std::byte> bytes_;
  size_t next_ = 0;
};

}  // namespace

TableContents tfrecord_contents(const std::filesystem::path& path, const std::string& name) {
  TfrecordTable table(path, name, {});
  return {.format = {}, .events = table.events(), .columns = table.features(), .of_texts = table.of_texts()};
}

std::unique_ptr<TableReader> open_tfrecord_table(const std::filesystem::path& path, const std::string& name,
                                                 const std::vector<WantedColumn>& columns) {
  return std::make_unique<TfrecordTable>(path, name, columns);
}

}  // namespace linac::data
