#include "linac/train/train/exchange/synchronous.h"

#include "linac/base/base/error.h"
#include "linac/base/base/trace.h"

namespace linac::train {
namespace {

// Losses, statistics and flags, the last bucket, are never rounded.
bool is_rounded(const job::Job& job, bool last) {
  return job.train.exchange == "bf16" && !last;
}

}  // namespace

SynchronousExchange::SynchronousExchange(const ExchangeParts& parts)
    : job_(parts.job), group_(parts.group), devices_(parts.devices) {}

void SynchronousExchange::take_place() {
  all_.emplace(ReplicaScope{&group_, comm::owned_replicas(job_.train.pieces(), group_.view(), group_.rank()),
                            comm::ReplicaSum(group_, job_.train.pieces())});
}

std::vector<Bucket> SynchronousExchange::cut(const graph::Parameters& network, const Message& message) const {
  return make_buckets(network.trainable_layout, message.tail());
}

double SynchronousExchange::bytes(const Bucket& bucket, bool last) const {
  return static_cast<double>(bucket.size * (is_rounded(job_, last) ? sizeof(uint16_t) : sizeof(float)));
}

void SynchronousExchange::sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages,
                              ReplicaProgress& progress, Message& total) {
  ReplicaScope& now = scope();
  // Said only where there is news: a replica that hangs is noticed by the silence.
  const auto further = [&](size_t index) { group_.mark("compute, replica", now.owned[index]); };
  const auto now_and_then = [&] {
    if (group_.leaving()) throw Error(ErrorCode::kPeerLost, "[train] the view is being left");
  };
  const auto computed = [&](size_t b) {
    const trace::Span span("compute bucket", static_cast<int64_t>(b));
    return progress.wait_for(b, further, now_and_then);
  };
  for (size_t b = 0; b < buckets.size() && computed(b); ++b) {
    const trace::Span span("sum bucket", static_cast<int64_t>(b));
    const bool last = b + 1 == buckets.size();
    const auto exchange = is_rounded(job_, last) ? comm::Exchange::kBfloat16 : comm::Exchange::kFloat;
    const auto sum = std::span(total.values).subspan(buckets[b].begin, buckets[b].size);
    if (devices_ != nullptr && !last) {
      sum_on_devices(buckets[b], messages, sum, exchange);
      continue;
    }
    std::vector<std::span<float>> parts;
    for (Message& message : messages)
      parts.push_back(std::span(message.values).subspan(buckets[b].begin, buckets[b].size));
    now.sum.reduce(parts, sum, exchange);
  }
  group_.mark("compute ahead");
}

// The last bucket, which is no gradient, is the host's in any case.
void SynchronousExchange::sum_on_devices(const Bucket& bucket, std::vector<Message>& messages, std::span<float> total,
                                         comm::Exchange exchange) {
  ReplicaScope& now = scope();
  std::vector<std::span<float>> roots;
  for (const comm::ReplicaRange& root : now.sum.own_roots()) {
    Message& message = messages[static_cast<size_t>(root.begin - now.owned.front())];
    roots.push_back(std::span(message.values).subspan(bucket.begin, bucket.size));
  }
  devices_->sum().sum(bucket.begin, roots, exchange);
  now.sum.reduce_roots(roots, total, exchange);
}

void SynchronousExchange::sum(std::vector<AlignedFloats>& buffers, std::span<float> total) {
  const std::vector<std::span<float>> spans(buffers.begin(), buffers.end());
  scope().sum.reduce(spans, total);
}

}  // namespace linac::train
