// An RNTuple as a table: a field with values and the collections above it make a column.

#include <algorithm>

#include "linac/io/root/ntuple_pages.h"
#include "linac/io/root/table.h"

namespace linac::root {
namespace {

constexpr int kFieldsDeepMax = 32;
constexpr int64_t kRowValuesMax = int64_t{1} << 26;

struct FieldColumn {
  std::vector<uint32_t> lists;  // columns with the ends of its lists, the outermost first
  uint32_t values = 0;          // the column with its values, or with the ends of its texts
  uint32_t characters = 0;      // of texts
  uint64_t repeated = 1;        // values of an event or of an element of the innermost list
  bool is_size = false;         // the length of a list
};

class FieldReader : public ColumnReader {
 public:
  FieldReader(std::shared_ptr<const File> file, const Ntuple& ntuple, const ColumnInfo& info, const FieldColumn& column)
      : file_(std::move(file)), ntuple_(ntuple), info_(info), column_(column) {
    where_ = file_->say(fmt::format("column '{}'", info.name));
    for (const uint32_t list : column.lists) lists_.emplace_back(*file_, ntuple, list, where_);
    values_.emplace_back(*file_, ntuple, column.values, where_);
    if (info.is_text) values_.emplace_back(*file_, ntuple, column.characters, where_);
  }

  void read(int64_t first, int64_t count, Block& out) override {
    while (count > 0) {
      auto next = std::ranges::upper_bound(ntuple_.clusters, first, {}, &Cluster::first);
      LINAC_CHECK(next != ntuple_.clusters.begin());
      const Cluster& cluster = *std::prev(next);
      const int64_t begin = first - cluster.first, now = std::min(count, cluster.events - begin);
      LINAC_CHECK(now > 0);
      read_in(static_cast<size_t>(std::prev(next) - ntuple_.clusters.begin()), static_cast<uint64_t>(begin),
              static_cast<uint64_t>(now), out);
      first += now;
      count -= now;
    }
  }

 private:
  void read_in(size_t cluster, uint64_t first, uint64_t count, Block& out) {
    for (size_t level = 0; level < lists_.size(); ++level) {
      ends_of(lists_[level], cluster, first, count);
      std::vector<uint32_t>& lengths = level == 0 ? out.outer : out.inner;
      for (uint64_t i = 0; i < count; ++i) lengths.push_back(static_cast<uint32_t>(ends_[i + 1] - ends_[i]));
      first = ends_.front();
      count = ends_.back() - first;
    }
    if (info_.is_text) return texts(cluster, first, count, out);
    if (!column_.is_size && out.as_stored)
      return values_[0].stored(cluster, first * column_.repeated, count * column_.repeated, out.stored);
    if (!column_.is_size)
      return values_[0].values(cluster, first * column_.repeated, count * column_.repeated, out.values);
    ends_of(values_[0], cluster, first, count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t length = ends_[i + 1] - ends_[i];
      if (!out.as_stored) {
        out.values.push_back(static_cast<float>(length));
        continue;
      }
      const auto bytes = std::as_bytes(std::span(&length, 1));
      out.stored.insert(out.stored.end(), bytes.begin(), bytes.end());
    }
  }

  void texts(size_t cluster, uint64_t first, uint64_t count, Block& out) {
    ends_of(values_[0], cluster, first, count);
    for (uint64_t i = 0; i < count; ++i) {
      out.texts.emplace_back();
      values_[1].characters(cluster, ends_[i], ends_[i + 1] - ends_[i], out.texts.back());
    }
  }

  /// Where the lists `first` ... begin, and where the last one ends.
  void ends_of(ColumnElements& lists, size_t cluster, uint64_t first, uint64_t count) {
    ends_.clear();
    if (first == 0) ends_.push_back(0);
    lists.ends(cluster, first == 0 ? 0 : first - 1, first == 0 ? count : count + 1, ends_);
    const bool rise = std::ranges::is_sorted(ends_) && ends_.back() - ends_.front() <= UINT32_MAX;
    if (!rise)
      throw data_error(fmt::format("{}: the ends of its lists do not rise; copy or write the file again", where_));
  }

  std::shared_ptr<const File> file_;
  const Ntuple& ntuple_;
  const ColumnInfo& info_;
  const FieldColumn& column_;
  std::string where_;
  std::vector<ColumnElements> lists_, values_;
  std::vector<uint64_t> ends_;
};

/// The fields as columns, from the top down.
class Fields {
 public:
  Fields(const Ntuple& ntuple, std::vector<ColumnInfo>& infos, std::vector<FieldColumn>& columns)
      : ntuple_(ntuple), infos_(infos), columns_(columns) {}

  struct Above {
    std::string path;
    FieldColumn column;
    std::vector<int64_t> extents;
    int depth = 0;
  };

  void add(uint32_t number, Above above) {
    const Field& field = ntuple_.fields[number];
    if (above.path.empty()) above.path = field.name;
    if (++above.depth > kFieldsDeepMax) return refuse(above, "fields lie too deep");
    if (field.other_columns) return refuse(above, "stored in several ways");
    for (const uint32_t column : field.columns)
      if (ntuple_.columns[column].first != 0) return refuse(above, "added after the first events");
    if (!repeat(field, above)) return refuse(above, "arrays of too many values");
    switch (field.role) {
      case FieldRole::kLeaf:
        return leaf(field, above);
      case FieldRole::kCollection:
        return collection(field, above);
      case FieldRole::kRecord:
        return below(field, above, false);
      default:
        return refuse(above, field.role == FieldRole::kVariant ? "a variant" : "an object of " + field.type);
    }
  }

 private:
  void refuse(const Above& above, const std::string& why) {
    infos_.push_back({.name = above.path, .type = {}, .extents = {}, .refused = why});
    columns_.emplace_back();
  }

  static bool repeat(const Field& field, Above& above) {
    if (field.repeated == 0) return true;
    if (field.repeated > static_cast<uint64_t>(kRowValuesMax) / above.column.repeated) return false;
    above.column.repeated *= field.repeated;
    above.extents.push_back(static_cast<int64_t>(field.repeated));
    return true;
  }

  /// `inside`: the only field below says nothing by its name, as that of a vector or an array.
  void below(const Field& field, const Above& above, bool inside) {
    for (const uint32_t number : field.fields) {
      Above next = above;
      if (!inside || field.fields.size() != 1 || ntuple_.fields[number].name != "_0")
        next.path += "." + ntuple_.fields[number].name;
      add(number, std::move(next));
    }
  }

  void collection(const Field& field, Above above) {
    if (!above.extents.empty()) return refuse(above, "lists in an array");
    if (above.column.lists.size() == 2) return refuse(above, "lists of lists of lists");
    if (field.columns.size() != 1 || !is_index(field.columns[0]))
      return refuse(above, "a list whose ends are not read");
    above.column.lists.push_back(field.columns[0]);
    below(field, above, true);
  }

  bool is_index(uint32_t column) const {
    const auto encoding = encoding_of(ntuple_.columns[column]);
    return encoding && encoding->index;
  }

  void leaf(const Field& field, Above& above) {
    if (field.columns.empty()) {
      if (field.fields.empty()) return refuse(above, "no values");
      return below(field, above, true);
    }
    ColumnInfo info{.name = above.path,
                    .type = {},
                    .lists = static_cast<int>(above.column.lists.size()),
                    .extents = above.extents,
                    .refused = {}};
    above.column.values = field.columns[0];
    const auto encoding = encoding_of(ntuple_.columns[field.columns[0]]);
    if (!encoding) return refuse(above, fmt::format("values of kind {}", ntuple_.columns[field.columns[0]].type));
    if (field.type == "std::string" && field.columns.size() == 2 && encoding->index) {
      const auto characters = encoding_of(ntuple_.columns[field.columns[1]]);
      if (info.lists > 0 || !info.extents.empty()) return refuse(above, "lists of texts");
      if (!characters || characters->bits != Encoding::Bits::kWhole || bytes_of(characters->type) != 1)
        return refuse(above, "texts of unknown characters");
      above.column.characters = field.columns[1];
      info.is_text = true;
      info.type = "text";
    } else if (encoding->index && !field.type.starts_with("ROOT::RNTupleCardinality<")) {
      return refuse(above, field.type);
    } else {
      above.column.is_size = encoding->index;
      info.type = encoding->index ? "uint64" : to_string(encoding->type);
    }
    info.bytes_an_event = bytes_an_event(above.column);
    infos_.push_back(std::move(info));
    columns_.push_back(above.column);
  }

  double bytes_an_event(const FieldColumn& column) const {
    double elements = 0;
    for (const Cluster& cluster : ntuple_.clusters)
      if (column.values < cluster.columns.size())
        elements += static_cast<double>(cluster.columns[column.values].elements);
    return 4 * elements / std::max(1.0, static_cast<double>(ntuple_.events));
  }

  const Ntuple& ntuple_;
  std::vector<ColumnInfo>& infos_;
  std::vector<FieldColumn>& columns_;
};

/// The names of the fields that columns belong to.
std::vector<std::string> fields_of_columns(const Ntuple& ntuple) {
  std::vector<std::string> names(ntuple.columns.size());
  for (const Field& field : ntuple.fields) {
    std::string path = field.name;
    const Field* above = &field;
    for (int depth = 0; depth < kFieldsDeepMax && &ntuple.fields[above->parent] != above; ++depth) {
      above = &ntuple.fields[above->parent];
      path = above->name + "." + path;
    }
    for (const uint32_t column : field.columns) names[column] = path;
  }
  return names;
}

class PageCheck {
 public:
  PageCheck(const File& file, const Ntuple& ntuple) : file_(file), ntuple_(ntuple), names_(fields_of_columns(ntuple)) {}

  void check(size_t number, const TakePart& take) {
    const Cluster& cluster = ntuple_.clusters[number];
    for (size_t i = 0; i < std::min(cluster.columns.size(), names_.size()); ++i) {
      if (cluster.columns[i].is_suppressed) continue;
      for (const Page& page : cluster.columns[i].pages)
        take({names_[i], cluster.first, cluster.events, page.bytes, page.has_checksum}, damage_of(number, i, page));
    }
  }

 private:
  std::string damage_of(size_t cluster, size_t column, const Page& page) {
    try {
      read_page(file_, page, ntuple_.columns[column].bits,
                file_.say(fmt::format("column '{}': cluster {}", names_[column], cluster)), stored_, room_);
      return {};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      return error.what();
    }
  }

  const File& file_;
  const Ntuple& ntuple_;
  const std::vector<std::string> names_;
  std::vector<std::byte> stored_, room_;
};

class NtupleTable : public Table {
 public:
  NtupleTable(std::shared_ptr<const File> file, const Key& key)
      : file_(std::move(file)), ntuple_(read_ntuple(*file_, key)) {
    Fields fields(ntuple_, infos_, columns_);
    for (uint32_t i = 0; i < ntuple_.fields.size(); ++i)
      if (ntuple_.fields[i].parent == i) fields.add(i, {});
  }

  const std::string& name() const override { return ntuple_.name; }
  int64_t events() const override { return ntuple_.events; }
  const std::vector<ColumnInfo>& columns() const override { return infos_; }
  std::unique_ptr<ColumnReader> reader(size_t column) const override {
    LINAC_CHECK(infos_.at(column).refused.empty());
    return std::make_unique<FieldReader>(file_, ntuple_, infos_[column], columns_[column]);
  }
  void check_parts(const TakePart& take) const override {
    PageCheck pages(*file_, ntuple_);
    for (size_t cluster = 0; cluster < ntuple_.clusters.size(); ++cluster) pages.check(cluster, take);
  }

 private:
  std::shared_ptr<const File> file_;
  Ntuple ntuple_;
  std::vector<ColumnInfo> infos_;
  std::vector<FieldColumn> columns_;
};

}  // namespace

std::unique_ptr<Table> open_ntuple(const std::shared_ptr<const File>& file, const Key& key) {
  return std::make_unique<NtupleTable>(file, key);
}

}  // namespace linac::root
