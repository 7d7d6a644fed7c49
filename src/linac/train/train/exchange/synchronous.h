#pragma once
// The second part of an update: what the replicas of all workers have computed comes together. This is the one rule
// that there is: synchronous. Every update waits for every replica and sees their sum, added along the fixed tree of
// train/comm/replica_sum.h, so all workers hold the same bits afterwards. Another rule (a parameter server, updates
// that do not wait) is another class beside this one: it takes the messages that computing fills, and leaves in `total`
// what apply.h is to apply. Used from one thread.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/train/exchange/buckets.h"
#include "linac/train/train/exchange/message.h"
#include "linac/train/train/exchange/progress.h"
#include "linac/train/train/exchange/replica_devices.h"

namespace linac::train {

class SynchronousExchange {
 public:
  /// Borrows all. With `devices` gradients come from there, as roots of what this worker carries.
  SynchronousExchange(const job::Job& job, comm::Group& group, ReplicaDevices* devices = nullptr);

  /// Takes the replicas over that this worker carries in the group's view. Before the first use, and in each new view.
  void take_place();
  const std::vector<int>& owned() const { return owned_; }  // replicas of this worker

  /// How the message of an update of `network` is cut; `message` is one such.
  static std::vector<Bucket> cut(const graph::Parameters& network, const Message& message);
  /// Of a bucket, the last one or not, on its way.
  static double bytes(const job::Job& job, const Bucket& bucket, bool last);

  /// Collective. `total` becomes the sum over all replicas; a bucket travels as soon as all replicas of this worker
  /// have it. Returns early if a replica has failed. Error(kPeerLost) if the view is being left.
  void sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages, ReplicaProgress& progress,
           Message& total);
  /// Collective. The same for buffers that are there, one a replica; they are overwritten.
  void sum(std::vector<AlignedFloats>& buffers, std::span<float> total);

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
