#include "linac/train/train/loops/collect_chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "linac/train/comm/replica_sum.h"
#include "linac/train/comm/test_in_process_group.h"

namespace linac::train {
namespace {

using std::literals::chrono_literals::operator""s;

struct Sent {
  int64_t bytes = 0, messages = 0;  // of all workers
};

// So many chunks of `floats` each, the last one half as large: on rank 0 all of them arrive.
Sent collect(int workers, int64_t chunks, size_t floats) {
  constexpr int64_t kReplicas = 7;
  auto groups = comm::make_in_process_groups(workers, 10s, {});
  const auto size = [&](int64_t chunk) { return chunk == chunks - 1 ? (floats + 1) / 2 : floats; };
  std::vector<std::jthread> threads;
  for (auto& group : groups) {
    threads.emplace_back([&] {
      std::vector<std::vector<float>> values(static_cast<size_t>(chunks));
      for (const int replica : comm::owned_replicas(kReplicas, group->view(), group->rank()))
        for (int64_t chunk = replica; chunk < chunks; chunk += kReplicas)
          values[static_cast<size_t>(chunk)].assign(size(chunk), static_cast<float>(chunk));
      collect_chunks(*group, kReplicas, 1, values, size);
      for (int64_t chunk = 0; chunk < chunks && group->rank() == 0; ++chunk) {
        const std::vector<float>& found = values[static_cast<size_t>(chunk)];
        EXPECT_EQ(found, std::vector<float>(size(chunk), static_cast<float>(chunk)));
      }
    });
  }
  threads.clear();
  Sent sent;
  for (const auto& group : groups) {
    sent.bytes += group->traffic().bytes;
    sent.messages += group->traffic().messages;
  }
  return sent;
}

TEST(CollectChunks, EachValueTravelsOnceAndNothingElse) {
  for (const int workers : {1, 2, 3, 5}) {
    for (const int64_t chunks : {0, 1, 6, 7, 50}) {
      const Sent sent = collect(workers, chunks, 30);
      EXPECT_LE(sent.bytes, chunks * 30 * int64_t{sizeof(float)}) << workers << " workers, " << chunks << " chunks";
      EXPECT_LE(sent.messages, workers - 1) << "few values are one message of each worker";
    }
  }
}

// Without a bound, the message of a worker grows with the number of test events.
TEST(CollectChunks, NoMessageGrowsWithTheNumberOfValues) {
  constexpr size_t kFloats = 10'000;
  for (const int64_t chunks : {70, 700, 2800}) {
    const Sent sent = collect(2, chunks, kFloats);
    const auto largest = static_cast<int64_t>(kMessageFloats / kFloats * kFloats * sizeof(float));
    EXPECT_GE(sent.messages, sent.bytes / largest) << chunks;
    EXPECT_LE(sent.messages, sent.bytes / largest + 2) << "and messages are full";
  }
}

TEST(CollectChunks, AChunkThatIsLargerThanAMessageIsOne) {
  EXPECT_EQ(collect(2, 14, kMessageFloats + 5).messages, 6);
}

}  // namespace
}  // namespace linac::train
