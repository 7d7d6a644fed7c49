#pragma once
// The parts of one replica that this process carries, each computed by a thread of its own: what they say to each other
// goes through memory, and what they say to parts elsewhere goes together, one message a peer and call. Thread-safe.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "linac/model/graph/split/part_link.h"

namespace linac::graph {

class PartHub {
 public:
  /// A message to or from another process; never empty.
  struct Outward {
    int rank;
    std::span<const std::byte> data;
  };
  struct Inward {
    int rank;
    std::span<std::byte> data;
  };
  /// Of one call, at once; `count`: how many there were before.
  using Carry = std::function<void(std::span<const Outward> out, std::span<const Inward> in, int64_t count)>;

  /// `ranks`: who carries each part. `carry` may be empty where all are of `rank`.
  PartHub(std::vector<int> ranks, int rank, Carry carry = {});
  ~PartHub();

  /// Of a part that is carried here; one thread at a time.
  PartLink& link(int part);
  /// One of the parts here will make no further call: the others', and those that wait, throw Error(kPeerLost).
  void give_up(const std::string& why);
  /// All parts begin anew: behind a call of give_up(), when no thread is in the hub.
  void begin_anew();

 private:
  class Link;

  void exchange(int part, std::span<const std::span<const float>> to, std::span<const std::span<float>> from);
  void bring_all();
  void bring_from_afar();

  const std::vector<int> ranks_;
  const int rank_;
  const Carry carry_;
  std::vector<int> here_;                     // the parts
  std::vector<std::unique_ptr<Link>> links_;  // by part; null elsewhere
  struct Call {
    std::span<const std::span<const float>> to;
    std::span<const std::span<float>> from;
  };
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<Call> calls_;  // by part, of those that have come
  size_t come_ = 0;
  int64_t count_ = 0;  // calls that are done
  std::exception_ptr failure_;
};

}  // namespace linac::graph
