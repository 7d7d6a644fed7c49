#pragma once
// How the part of a volume that one thread computes speaks with the other parts of the same replica. Whoever carries
// them implements it; the layers that model/graph/split/split_graph.h puts in call it.

#include <span>

namespace linac::graph {

class PartLink {
 public:
  virtual ~PartLink() = default;

  /// Which part the thread computes, of how many.
  virtual int part() const = 0;
  virtual int parts() const = 0;

  /// Collective: all parts make the same calls in the same order. One message to and one from each part; those with
  /// itself and empty ones do not travel. Returns once all have come. Error(kPeerLost) if a part will not come any
  /// more.
  virtual void exchange(std::span<const std::span<const float>> to, std::span<const std::span<float>> from) = 0;
};

}  // namespace linac::graph
