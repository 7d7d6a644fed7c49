#pragma once
// A TTree in the making: branches of numbers, as many for each event. All branches have baskets of the same events, so
// that a cluster is one of each. Memory is bounded by these. Used by one thread.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/io/root/file_writer.h"

namespace linac::root {

/// An event may take this in one branch.
inline constexpr int64_t kEventBytesMax = int64_t{1} << 26;

class TreeWriter {
 public:
  /// Of the class of a leaf: TLeafF, TLeafI, TLeafL.
  enum class Number : char { kFloat = 'F', kInt32 = 'I', kInt64 = 'L' };

  /// `file` outlives it.
  TreeWriter(FileWriter& file, std::string name) : file_(file), name_(std::move(name)) {}

  /// Before the first values come; `extents` of an event: "name[3][2]", none: one number. `name` is short. The branch's
  /// place.
  size_t add_branch(const std::string& name, Number type, const std::vector<int64_t>& extents);
  /// The values of the next events of a branch: whole events.
  void append(size_t branch, std::span<const float> values);
  void append(size_t branch, std::span<const int32_t> values);
  void append(size_t branch, std::span<const int64_t> values);
  /// That a branch has so far.
  int64_t events(size_t branch) const { return branches_.at(branch).events; }
  /// Writes the tree's record; all branches have `events` events.
  void finish(int64_t events);

 private:
  struct Branch {
    std::string name, title;  // "x", "x[3][2]"
    Number type;
    int64_t event_values = 1, events = 0;
    BigEndianBytes pending = {};
    std::vector<Key> baskets = {};
    int64_t unpacked = 0, stored = 0;
    uint32_t leaf = 0;  // what names it in the tree's record
    size_t event_bytes() const;
  };

  template <class T>
  void append_as(size_t branch, std::span<const T> values, Number type);
  int64_t events_of_a_basket() const;
  void write_basket(Branch& branch);
  void put_branch(Record& record, Branch& branch, int64_t events) const;

  FileWriter& file_;
  const std::string name_;
  std::vector<Branch> branches_;
  int64_t basket_events_ = 0;  // 0: no values yet
};

}  // namespace linac::root
