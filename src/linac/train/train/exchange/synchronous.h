#pragma once
// The synchronous rule: every update waits for every replica and sees their sum, added along the fixed tree of
// train/comm/replica_sum.h, so all workers hold the same bits afterwards. It keeps nothing from one update to the next.

#include <optional>
#include <span>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/train/exchange/exchange.h"

namespace linac::train {

class SynchronousExchange : public Exchange {
 public:
  /// See MakeExchange.
  SynchronousExchange(const job::Job& job, comm::Group& group, ReplicaDevices* devices = nullptr);

  void take_place() override;
  const std::vector<int>& owned() const override { return owned_; }
  std::vector<Bucket> cut(const graph::Parameters& network, const Message& message) const override;
  /// Half of it with train.exchange = bf16, but for the last one.
  double bytes(const Bucket& bucket, bool last) const override;
  /// The sum over all replicas.
  void sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages, ReplicaProgress& progress,
           Message& total) override;
  void sum(std::vector<AlignedFloats>& buffers, std::span<float> total) override;

 private:
  void sum_on_devices(const Bucket& bucket, std::vector<Message>& messages, std::span<float> total,
                      comm::Exchange exchange);

  const job::Job& job_;
  comm::Group& group_;
  ReplicaDevices* const devices_;
  std::vector<int> owned_;
  std::optional<comm::ReplicaSum> sum_;
};

}  // namespace linac::train
