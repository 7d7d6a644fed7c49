#pragma once
// The rule of a step where groups train apart: as the synchronous one, of the replicas of the island that is selected
// (local/islands.h). A gradient of the job is a mean over all replicas; here it becomes that over the island's.

#include <span>
#include <vector>

#include "linac/train/train/exchange/synchronous.h"
#include "linac/train/train/local/islands.h"

namespace linac::train {

class IslandExchange : public SynchronousExchange {
 public:
  /// User error for a worker with several GPUs.
  explicit IslandExchange(const ExchangeParts& parts);

  void take_place() override {}  // the islands have
  comm::Group& group() override { return *scope().group; }
  using SynchronousExchange::sum;
  /// The losses stay the island's share of those of all replicas.
  void sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages, ReplicaProgress& progress,
           Message& total) override;

 protected:
  ReplicaScope& scope() override { return islands_.scope(); }

 private:
  Islands& islands_;
};

}  // namespace linac::train
