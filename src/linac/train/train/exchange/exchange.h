#pragma once
// The second part of an update: what the replicas of all workers have computed comes together. A rule takes the
// messages that computing fills (exchange/compute.h) and leaves in the total what exchange/apply.h is to apply. There
// are two: of all replicas (exchange/synchronous.h) and of those of an island (local/island_exchange.h). Another one (a
// parameter server, updates that do not wait) is another class and a line in the table of exchange.cpp. Used from one
// thread.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/job/job.h"
#include "linac/model/graph/parameters.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/exchange/buckets.h"
#include "linac/train/train/exchange/message.h"
#include "linac/train/train/exchange/progress.h"
#include "linac/train/train/exchange/replica_devices.h"
#include "linac/train/train/state/exchange_state.h"

namespace linac::train {

class Islands;

class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Takes the replicas over that this worker carries in the group's view. Before the first use, and in each new view.
  virtual void take_place() = 0;
  /// Of the workers whose replicas come together.
  virtual comm::Group& group() = 0;
  virtual const std::vector<int>& owned() = 0;  // replicas of this worker that do

  /// How the message of an update of `network` is cut; `message` is one such.
  virtual std::vector<Bucket> cut(const graph::Parameters& network, const Message& message) const = 0;
  /// Of a bucket, the last one or not, on its way.
  virtual double bytes(const Bucket& bucket, bool last) const = 0;

  /// Collective. `total` becomes what is to be applied; a bucket travels as soon as all replicas of this worker have
  /// it. Returns early if a replica has failed. Error(kPeerLost) if the view is being left.
  virtual void sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages, ReplicaProgress& progress,
                   Message& total) = 0;
  /// Collective. Buffers that are there, one a replica; they are overwritten. `total` becomes the sum over all replicas
  /// by any rule: of a test, which belongs to no update.
  virtual void sum(std::vector<AlignedFloats>& buffers, std::span<float> total) = 0;

  /// What it keeps from one update to the next, behind the last that was applied; and back.
  virtual ExchangeState state() const { return {}; }
  virtual void restore(const ExchangeState& /*state*/) {}
};

/// What a rule is made for; borrowed.
struct ExchangeParts {
  const job::Job& job;
  comm::Group& group;                 // of all workers
  ReplicaDevices* devices = nullptr;  // gradients come from there, as roots of what this worker carries
  Islands* islands = nullptr;         // of replicas that train apart
};
using MakeExchange = std::unique_ptr<Exchange> (*)(const ExchangeParts& parts);

/// By train.sync.mode. User error with those that there are.
MakeExchange exchange_named(std::string_view mode);

}  // namespace linac::train
