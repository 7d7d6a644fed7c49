// A TTree as a table: baskets are read one after the other, and their values decoded as far as they are asked for.

#include <algorithm>
#include <set>

#include "linac/io/root/blocks.h"
#include "linac/io/root/table.h"
#include "linac/io/root/tree_columns.h"

namespace linac::root {
namespace {

constexpr size_t kVectorHeadBytes = 6;  // byte count and version; a length of four bytes follows

/// The basket that was read last.
class BasketBuffer {
 public:
  BasketBuffer(const File& file, std::string where) : file_(file), where_(std::move(where)) {}

  void load(const Basket& basket, bool with_offsets) {
    loaded_ = nullptr;
    offsets_.clear();
    if (basket.kept) {
      values_ = *basket.kept;  // as long as the branch lives
      for (const int32_t offset : basket.kept_offsets) offsets_.push_back(static_cast<uint32_t>(offset));
      values_end_ = values_.size();
    } else {
      unpack_record(basket, with_offsets);
    }
    if (!offsets_.empty()) {
      offsets_.resize(static_cast<size_t>(basket.events));
      offsets_.push_back(static_cast<uint32_t>(values_end_));
      for (size_t i = 0; i + 1 < offsets_.size(); ++i)
        if (offsets_[i] > offsets_[i + 1]) fail(basket, "its entry offsets do not rise");
    }
    loaded_ = &basket;
  }

  /// Where each event begins, and the end, of a basket that does not say it.
  void set_offsets(std::vector<uint32_t> offsets) { offsets_ = std::move(offsets); }

  const Basket* loaded() const { return loaded_; }
  std::span<const std::byte> values() const { return values_.first(values_end_); }
  const std::vector<uint32_t>& offsets() const { return offsets_; }

  [[noreturn]] void fail(const Basket& basket, const std::string& what) const {
    throw data_error(fmt::format("{}, events {} to {}: {}; copy or write the file again", where_, basket.first,
                                 basket.first + basket.events - 1, what));
  }

 private:
  void unpack_record(const Basket& basket, bool with_offsets) {
    file_.read(basket.seek, basket.bytes, record_);
    Cursor cursor(record_, where_);
    const Key key = read_key(cursor);
    if (key.class_name != "TBasket" || key.bytes != basket.bytes || key.head > key.bytes)
      fail(basket, "its record is no basket");
    cursor.skip(2 + 4);  // version, size of the buffer
    if (cursor.big<int32_t>() < 0) cursor.skip(1);
    const auto events = cursor.big<int32_t>();
    const auto last = cursor.big<int32_t>();
    if (events != basket.events) fail(basket, fmt::format("its record holds {}", events));
    values_ = unpacked(std::span(record_).subspan(key.head), key.unpacked, room_, where_);
    if (last < key.head || static_cast<size_t>(last - key.head) > values_.size())
      fail(basket, "its values end beyond it");
    values_end_ = static_cast<size_t>(last - key.head);
    if (!with_offsets || values_end_ == values_.size()) return;
    Cursor tail(values_.subspan(values_end_), where_);
    const auto count = tail.big<uint32_t>();
    if (count < static_cast<uint64_t>(events) || count > tail.left() / 4) fail(basket, "its entry offsets are too few");
    offsets_.resize(static_cast<size_t>(events));
    for (uint32_t& offset : offsets_) offset = tail.big<uint32_t>() - key.head;
  }

  const File& file_;
  std::string where_;
  std::vector<std::byte> record_, room_;
  std::span<const std::byte> values_;
  std::vector<uint32_t> offsets_;
  size_t values_end_ = 0;
  const Basket* loaded_ = nullptr;
};

class TreeColumnReader : public ColumnReader {
 public:
  TreeColumnReader(std::shared_ptr<const File> file, const ColumnInfo& info, const TreeColumn& column)
      : file_(std::move(file)),
        info_(info),
        column_(column),
        basket_(*file_, file_->say(fmt::format("column '{}'", info.name))) {}

  void read(int64_t first, int64_t count, Block& out) override {
    while (count > 0) {
      const Basket& basket = basket_of(first);
      if (basket_.loaded() != &basket) {
        basket_.load(basket, column_.stored != TreeColumn::Stored::kRows);
        if (tells_its_length() && basket_.offsets().empty()) find_offsets(basket);
      }
      const int64_t begin = first - basket.first, now = std::min(count, basket.events - begin);
      decode(basket, static_cast<size_t>(begin), static_cast<size_t>(now), out);
      first += now;
      count -= now;
    }
  }

 private:
  const Basket& basket_of(int64_t event) const {
    const auto& baskets = column_.branch->baskets;
    auto next = std::ranges::upper_bound(baskets, event, {}, &Basket::first);
    if (next == baskets.begin() || event >= std::prev(next)->first + std::prev(next)->events) {
      throw data_error(
          file_->say(fmt::format("column '{}' has no event {}; copy or write the file again", info_.name, event)));
    }
    return *std::prev(next);
  }

  bool tells_its_length() const {
    return column_.stored != TreeColumn::Stored::kRows && column_.stored != TreeColumn::Stored::kList;
  }

  /// Other writers than ROOT leave the offsets out where an event tells its own length.
  void find_offsets(const Basket& basket) {
    Cursor cursor(basket_.values(), file_->say(fmt::format("column '{}'", info_.name)));
    std::vector<uint32_t> offsets{0};
    for (int64_t event = 0; event < basket.events; ++event) {
      if (column_.stored == TreeColumn::Stored::kText) {
        read_string(cursor);
      } else {
        constexpr uint32_t kByteCount = 0x40000000;
        const auto count = cursor.big<uint32_t>();
        if ((count & kByteCount) == 0)
          basket_.fail(basket, "it stores no entry offsets, nor the lengths of its events");
        cursor.skip(count & ~kByteCount);
      }
      offsets.push_back(static_cast<uint32_t>(cursor.position()));
    }
    basket_.set_offsets(std::move(offsets));
  }

  void decode(const Basket& basket, size_t begin, size_t count, Block& out) {
    if (column_.stored == TreeColumn::Stored::kRows) return rows(basket, begin, count, out);
    const auto& offsets = basket_.offsets();
    if (offsets.empty()) basket_.fail(basket, "it stores no entry offsets");
    const auto bytes_of_event = [&](size_t event) {
      return basket_.values().subspan(offsets[event], offsets[event + 1] - offsets[event]);
    };
    if (column_.stored == TreeColumn::Stored::kList && column_.head == 0) return list(basket, begin, count, out);
    for (size_t event = begin; event < begin + count; ++event) {
      const auto bytes = bytes_of_event(event);
      switch (column_.stored) {
        case TreeColumn::Stored::kText:
          text(bytes, out);
          break;
        case TreeColumn::Stored::kList:
          if (bytes.size() < column_.head) basket_.fail(basket, "an event is too short");
          values(basket, bytes.subspan(column_.head), out);
          break;
        default:
          vector(basket, bytes, out);
      }
    }
  }

  void take(std::span<const std::byte> bytes, Block& out) const {
    if (out.as_stored)
      copy_big(column_.type, bytes, out.stored);
    else
      append_big(column_.type, bytes, out.values);
  }

  void rows(const Basket& basket, size_t begin, size_t count, Block& out) {
    const size_t stride = column_.stride;
    const auto all = basket_.values();
    if (all.size() / stride < begin + count) basket_.fail(basket, fmt::format("it holds {} bytes", all.size()));
    const auto bytes = all.subspan(begin * stride, count * stride);
    if (stride == column_.values * bytes_of(column_.type)) return take(bytes, out);
    if (!out.as_stored) return append_big_rows(column_.type, bytes, stride, column_.offset, column_.values, out.values);
    for (size_t at = 0; at < bytes.size(); at += stride)
      take(bytes.subspan(at + column_.offset, column_.values * bytes_of(column_.type)), out);
  }

  void list(const Basket& basket, size_t begin, size_t count, Block& out) {
    const auto& offsets = basket_.offsets();
    const auto stride = static_cast<uint32_t>(column_.stride);
    const size_t old = out.outer.size();
    out.outer.resize(old + count);
    bool whole = true;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t bytes = offsets[begin + i + 1] - offsets[begin + i];
      out.outer[old + i] = bytes / stride;
      whole &= bytes % stride == 0;
    }
    if (!whole) basket_.fail(basket, "an event ends within a value");
    take(basket_.values().subspan(offsets[begin], offsets[begin + count] - offsets[begin]), out);
  }

  void values(const Basket& basket, std::span<const std::byte> bytes, Block& out) {
    if (bytes.size() % column_.stride != 0) basket_.fail(basket, "an event ends within a value");
    out.outer.push_back(static_cast<uint32_t>(bytes.size() / column_.stride));
    take(bytes, out);
  }

  void vector(const Basket& basket, std::span<const std::byte> bytes, Block& out) {
    const size_t value = bytes_of(column_.type);
    Cursor cursor(bytes, "");
    const auto length = [&] {
      if (cursor.left() < 4) basket_.fail(basket, "a vector is too short");
      return cursor.big<uint32_t>();
    };
    const auto append = [&](uint32_t count) {
      if (count > cursor.left() / value) basket_.fail(basket, "a vector is too short");
      take(cursor.take(count * value), out);
    };
    if (cursor.left() < kVectorHeadBytes) basket_.fail(basket, "a vector is too short");
    cursor.skip(kVectorHeadBytes);
    const uint32_t count = length();
    out.outer.push_back(count);
    if (column_.stored == TreeColumn::Stored::kVector) return append(count);
    for (uint32_t i = 0; i < count; ++i) {
      out.inner.push_back(length());
      append(out.inner.back());
    }
  }

  void text(std::span<const std::byte> bytes, Block& out) {
    Cursor cursor(bytes, file_->say(fmt::format("column '{}'", info_.name)));
    out.texts.push_back(read_string(cursor));
  }

  std::shared_ptr<const File> file_;
  const ColumnInfo& info_;
  const TreeColumn& column_;
  BasketBuffer basket_;
};

/// The baskets of a branch and of those below it.
class BasketCheck {
 public:
  BasketCheck(const File& file, const std::vector<DescribedColumn>& columns, const TakePart& take)
      : file_(file), take_(take) {
    for (const DescribedColumn& one : columns)
      if (one.info.refused.empty() && one.column.stored != TreeColumn::Stored::kRows) lists_.insert(one.column.branch);
  }

  void check(const Branch& branch) const {
    for (const Branch& below : branch.branches) check(below);
    if (!branch.file.empty()) return;
    BasketBuffer buffer(file_, file_.say(fmt::format("branch '{}'", branch.path)));
    int64_t events = 0;
    for (const Basket& basket : branch.baskets) {
      events += basket.events;
      take_({branch.path, basket.first, basket.events, basket.bytes, false}, damage_of(buffer, branch, basket));
    }
    if (branch.baskets.empty() || events == branch.events) return;
    take_({branch.path, 0, branch.events, 0, false},
          fmt::format("has baskets for {} of {} events", events, branch.events));
  }

 private:
  std::string damage_of(BasketBuffer& buffer, const Branch& branch, const Basket& basket) const {
    try {
      buffer.load(basket, lists_.contains(&branch));
      return {};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      return error.what();
    }
  }

  const File& file_;
  const TakePart& take_;
  std::set<const Branch*> lists_;  // whose baskets have entry offsets
};

class TreeTable : public Table {
 public:
  TreeTable(std::shared_ptr<const File> file, const Key& key)
      : file_(std::move(file)), key_(key), tree_(read_tree(*file_, key)) {
    for (const Branch& branch : tree_.branches) describe_branch(branch, tree_.name, described_);
    for (DescribedColumn& one : described_) {
      if (one.info.refused.empty() && one.column.branch->events != tree_.events)
        one.info.refused = fmt::format("{} events", one.column.branch->events);
      infos_.push_back(one.info);
    }
  }

  const std::string& name() const override { return tree_.name; }
  int64_t events() const override { return tree_.events; }
  const std::vector<ColumnInfo>& columns() const override { return infos_; }
  std::unique_ptr<ColumnReader> reader(size_t column) const override {
    LINAC_CHECK(infos_.at(column).refused.empty());
    return std::make_unique<TreeColumnReader>(file_, infos_[column], described_[column].column);
  }
  std::vector<Friend> friends() const override { return read_relations(*file_, key_).friends; }
  std::string index() const override { return read_relations(*file_, key_).index; }
  void check_parts(const TakePart& take) const override {
    const BasketCheck baskets(*file_, described_, take);
    for (const Branch& branch : tree_.branches) baskets.check(branch);
  }

 private:
  std::shared_ptr<const File> file_;
  const Key key_;
  Tree tree_;
  std::vector<DescribedColumn> described_;
  std::vector<ColumnInfo> infos_;
};

}  // namespace

std::unique_ptr<Table> open_tree(const std::shared_ptr<const File>& file, const Key& key) {
  return std::make_unique<TreeTable>(file, key);
}

}  // namespace linac::root
