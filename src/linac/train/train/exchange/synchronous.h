#pragma once
// The synchronous rule: every update waits for every replica and sees their sum, added along the fixed tree of
// train/comm/replica_sum.h, so all workers hold the same bits afterwards. It keeps nothing from one update to the next.

#include <optional>
#include <span>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/exchange/exchange.h"
#include "linac/train/train/exchange/scope.h"

namespace linac::train {

class SynchronousExchange : public Exchange {
 public:
  explicit SynchronousExchange(const ExchangeParts& parts);

  void take_place() override;
  comm::Group& group() override { return group_; }
  const std::vector<int>& owned() override { return scope().owned; }
  std::vector<Bucket> cut(const graph::Parameters& network, const Message& message) const override;
  /// Half of it with train.exchange = bf16, but for the last one.
  double bytes(const Bucket& bucket, bool last) const override;
  /// The sum over all replicas.
  void sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages, ReplicaProgress& progress,
           Message& total) override;
  void sum(std::vector<AlignedFloats>& buffers, std::span<float> total) override;

 protected:
  /// Which replicas come together.
  virtual ReplicaScope& scope() { return all_.value(); }

 private:
  void sum_on_devices(const Bucket& bucket, std::vector<Message>& messages, std::span<float> total,
                      comm::Exchange exchange);

  const job::Job& job_;
  comm::Group& group_;
  ReplicaDevices* const devices_;
  std::optional<ReplicaScope> all_;
};

}  // namespace linac::train
