#pragma once
// Pieces of data for several ranks and from them, exchanged at once: all that goes to a rank is one message. For one
// thread at a time.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "linac/train/comm/exchange.h"
#include "linac/train/comm/group.h"

namespace linac::comm {

class Parcels {
 public:
  /// Empty pieces do not travel. Those from a rank come in the order in which that rank sends them here. The data stay
  /// the caller's, until exchange() returns.
  void send(int to, std::span<const float> piece);
  void receive(int from, std::span<float> piece);
  /// Carries all of them, and is empty again. What travels narrow has been rounded before: nothing is lost on the way.
  /// Errors as Group::exchange().
  void exchange(Group& group, Exchange how, int tag);

 private:
  template <class Number>
  void carry(Group& group, int tag);

  std::map<int, std::vector<std::span<const float>>> out_;
  std::map<int, std::vector<std::span<float>>> in_;
  std::vector<float> packed_out_, packed_in_;
  std::vector<uint16_t> narrow_out_, narrow_in_;
};

}  // namespace linac::comm
