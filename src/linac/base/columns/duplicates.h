#pragma once
// Events that are there more than once, within the training events, within the test events, and, which flatters a
// model, in both. Events are known by a hash of their bytes. Memory is bounded: where there are more events than fit, a
// share of the hashes stands for all, the same share in both, so whoever is in it is in it with all its copies. One
// thread.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace linac::columns {

class Duplicates {
 public:
  static constexpr size_t kEventsMax = size_t{4} << 20;  // 64 MiB

  explicit Duplicates(size_t events_max = kEventsMax) : events_max_(events_max) {}

  enum class Side : uint32_t { kTrain, kTest };
  /// `event` counts the events of its side.
  void add(uint64_t hash, Side side, int64_t event);

  struct Pair {
    Side first_side, second_side;
    int64_t first, second;
  };
  struct Found {
    double looked_at = 1;         // the share of the hashes that was looked at; counts are of all events, estimated
    int64_t train = 0, test = 0;  // events of a side that are a copy of an earlier one of it
    int64_t leaked = 0;           // test events whose bytes are also a training event's
    std::vector<Pair> pairs;      // examples: leaks first
  };
  Found find();

 private:
  struct Entry {
    uint64_t hash;
    uint64_t event;  // the uppermost bit: its side
    bool operator<(const Entry& other) const { return hash != other.hash ? hash < other.hash : event < other.event; }
  };
  void thin_out();

  const size_t events_max_;
  std::vector<Entry> entries_;
  int bits_ = 0;  // of a hash that are 0 in what is kept
};

}  // namespace linac::columns
