// TTree of version 20, TBranch 13 and TLeaf 2, those of ROOT 6.14 and later. Members: "TTree" of ROOT's io/doc/TFile,
// and its TTree.h, TBranch.h and TLeaf.h.

#include "linac/io/root/tree_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "linac/io/root/blocks.h"

namespace linac::root {
namespace {

constexpr size_t kBasketBytes = size_t{1} << 20;
constexpr uint16_t kTreeVersion = 20, kBranchVersion = 13, kLeafVersion = 2;
constexpr uint32_t kFeaturesChecksum = 0x1aa12f10;  // of ROOT::TIOFeatures, a class without versions
constexpr size_t kSlotsMin = 10;                    // of a branch for its baskets

void put_attributes_of_fill(Record& record) {
  record.part(2, [&] { record.put(uint16_t{0}, uint16_t{1001}); });  // white, solid
}

void put_features(Record& record) {
  record.part(0, [&] { record.put(kFeaturesChecksum, uint8_t{0}); });
}

}  // namespace

size_t TreeWriter::Branch::event_bytes() const {
  return static_cast<size_t>(event_values) * (type == Number::kInt64 ? 8 : 4);
}

size_t TreeWriter::add_branch(const std::string& name, Number type, const std::vector<int64_t>& extents) {
  LINAC_CHECK(basket_events_ == 0);
  Branch branch{.name = name, .title = name, .type = type};
  for (const int64_t extent : extents) {
    branch.title += fmt::format("[{}]", extent);
    branch.event_values *= extent;
  }
  LINAC_CHECK(branch.event_values > 0 && static_cast<int64_t>(branch.event_bytes()) <= kEventBytesMax);
  branches_.push_back(std::move(branch));
  return branches_.size() - 1;
}

int64_t TreeWriter::events_of_a_basket() const {
  const size_t widest = std::ranges::max(branches_, {}, &Branch::event_bytes).event_bytes();
  return static_cast<int64_t>(std::max(kBasketBytes / widest, size_t{1}));
}

template <class T>
void TreeWriter::append_as(size_t branch, std::span<const T> values, Number type) {
  Branch& to = branches_.at(branch);
  LINAC_CHECK(to.type == type && values.size() % static_cast<size_t>(to.event_values) == 0);
  if (basket_events_ == 0) basket_events_ = events_of_a_basket();
  const size_t full = static_cast<size_t>(basket_events_) * to.event_bytes();
  for (const T value : values) {
    to.pending.put(value);
    if (to.pending.size() == full) write_basket(to);
  }
  to.events += static_cast<int64_t>(values.size()) / to.event_values;
}

void TreeWriter::append(size_t branch, std::span<const float> values) {
  append_as(branch, values, Number::kFloat);
}

void TreeWriter::append(size_t branch, std::span<const int32_t> values) {
  append_as(branch, values, Number::kInt32);
}

void TreeWriter::append(size_t branch, std::span<const int64_t> values) {
  append_as(branch, values, Number::kInt64);
}

void TreeWriter::write_basket(Branch& branch) {
  const std::span<const std::byte> values = branch.pending.bytes();
  const Key key =
      file_.add_basket(name_, branch.name, values, static_cast<int64_t>(values.size() / branch.event_bytes()));
  branch.unpacked += key.head + key.unpacked;
  branch.stored += key.bytes;
  branch.baskets.push_back(key);
  branch.pending.clear();
}

void TreeWriter::finish(int64_t events) {
  if (basket_events_ == 0) basket_events_ = events_of_a_basket();
  int64_t unpacked = 0, stored = 0;
  for (Branch& branch : branches_) {
    LINAC_CHECK(branch.events == events);
    if (branch.pending.size() > 0) write_basket(branch);
    unpacked += branch.unpacked;
    stored += branch.stored;
  }
  Record record({"TTree", name_, ""});
  record.part(kTreeVersion, [&] {
    record.named(name_, "");
    record.part(2, [&] { record.put(uint16_t{602}, uint16_t{1}, uint16_t{1}); });  // of lines: colour, style, width
    put_attributes_of_fill(record);
    record.part(2, [&] { record.put(uint16_t{1}, uint16_t{1}, 1.0F); });              // of markers: colour, style, size
    record.put(events, unpacked, stored, int64_t{0}, stored);                         // saved, flushed
    record.put(1.0, int32_t{0}, int32_t{25}, int32_t{0}, int32_t{1000}, int32_t{0});  // weight ... other clusters
    record.put(int64_t{1'000'000'000'000}, int64_t{1'000'000'000'000}, int64_t{0});   // limits of entries, memory
    record.put(int64_t{-300'000'000}, basket_events_, int64_t{1'000'000});            // saved after, cluster, estimate
    record.put(uint8_t{0}, uint8_t{0});                                               // no other clusters
    put_features(record);
    record.array(branches_.size(), [&] {
      for (Branch& branch : branches_) put_branch(record, branch, events);
    });
    record.array(branches_.size(), [&] {
      for (const Branch& branch : branches_) record.put(branch.leaf);
    });
    // No aliases, index values, index, tree of an index, friends, user's objects, references.
    for (int i = 0; i < 7; ++i) record.put(uint32_t{0});
  });
  file_.add(record);
}

void TreeWriter::put_branch(Record& record, Branch& branch, int64_t events) const {
  const size_t slots = std::max(branch.baskets.size() + 1, kSlotsMin);
  const auto letter = static_cast<char>(branch.type);
  const auto value_bytes = static_cast<uint32_t>(branch.event_bytes() / static_cast<size_t>(branch.event_values));
  const auto put_leaf = [&] {
    record.part(1, [&] {
      record.part(kLeafVersion, [&] {
        record.named(branch.name, branch.title);
        record.put(static_cast<uint32_t>(branch.event_values), value_bytes, uint32_t{0});
        record.put(uint8_t{0}, uint8_t{0}, uint32_t{0});  // no range, signed, of no other leaf's length
      });
      record.put_bytes(std::vector<std::byte>(size_t{2} * value_bytes));  // lowest and highest value
    });
  };
  const auto numbers = [&](const auto& put_of_basket) {
    record.put(uint8_t{1});
    for (size_t i = 0; i < slots; ++i) put_of_basket(i);
  };
  record.pointer("TBranch", [&] {
    record.part(kBranchVersion, [&] {
      record.named(branch.name, fmt::format("{}/{}", branch.title, letter));
      put_attributes_of_fill(record);
      record.put(kPackedAs, static_cast<uint32_t>(basket_events_ * static_cast<int64_t>(branch.event_bytes())));
      record.put(uint32_t{0}, static_cast<uint32_t>(branch.baskets.size()), events);
      put_features(record);
      record.put(uint32_t{0}, static_cast<uint32_t>(slots), uint32_t{0});  // offset, slots, no split
      record.put(events, int64_t{0}, branch.unpacked, branch.stored);
      record.array(0, [] {});
      record.array(1, [&] { branch.leaf = record.pointer(fmt::format("TLeaf{}", letter), put_leaf); });
      record.array(0, [] {});
      const std::vector<Key>& baskets = branch.baskets;
      const auto begin_of = [&](size_t i) { return std::min(static_cast<int64_t>(i) * basket_events_, events); };
      numbers([&](size_t i) { record.put(i < baskets.size() ? baskets[i].bytes : uint32_t{0}); });
      numbers([&](size_t i) { record.put(i <= baskets.size() ? begin_of(i) : int64_t{0}); });
      numbers([&](size_t i) { record.put(i < baskets.size() ? baskets[i].seek : uint64_t{0}); });
      record.put_text("");  // the baskets are in this file
    });
  });
}

}  // namespace linac::root
