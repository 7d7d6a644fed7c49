#include "linac/train/exchange/synchronous.h"

#include "linac/base/error.h"

namespace linac::train {
namespace {

// Losses, statistics and flags, the last bucket, are never rounded.
bool is_rounded(const spec::Job& job, bool last) {
  return job.train.exchange == "bf16" && !last;
}

}  // namespace

SynchronousExchange::SynchronousExchange(const spec::Job& job, comm::Group& group) : job_(job), group_(group) {}

void SynchronousExchange::take_place() {
  owned_ = comm::owned_replicas(job_.train.replicas, group_.view(), group_.rank());
  sum_.emplace(group_, job_.train.replicas);
}

std::vector<Bucket> SynchronousExchange::cut(const graph::Parameters& network, const Message& message) {
  return make_buckets(network.trainable_layout, message.tail());
}

double SynchronousExchange::bytes(const spec::Job& job, const Bucket& bucket, bool last) {
  return static_cast<double>(bucket.size * (is_rounded(job, last) ? sizeof(uint16_t) : sizeof(float)));
}

void SynchronousExchange::sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages,
                              ReplicaProgress& progress, Message& total) {
  // Said only where there is news: a replica that hangs is noticed by the silence.
  const auto further = [&](size_t index) { group_.mark("compute, replica", owned_[index]); };
  const auto now_and_then = [&] {
    if (group_.leaving()) throw Error(ErrorCode::kPeerLost, "[train] the view is being left");
  };
  for (size_t b = 0; b < buckets.size() && progress.wait_for(b, further, now_and_then); ++b) {
    std::vector<std::span<float>> parts;
    for (Message& message : messages)
      parts.push_back(std::span(message.values).subspan(buckets[b].begin, buckets[b].size));
    sum_->reduce(parts, std::span(total.values).subspan(buckets[b].begin, buckets[b].size),
                 is_rounded(job_, b + 1 == buckets.size()) ? comm::Exchange::kBfloat16 : comm::Exchange::kFloat);
  }
  group_.mark("compute ahead");
}

void SynchronousExchange::sum(std::vector<AlignedFloats>& buffers, std::span<float> total) {
  const std::vector<std::span<float>> spans(buffers.begin(), buffers.end());
  sum_->reduce(spans, total);
}

}  // namespace linac::train
