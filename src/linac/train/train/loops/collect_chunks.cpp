#include "linac/train/train/loops/collect_chunks.h"

#include "linac/base/base/piece_of_work.h"
#include "linac/train/comm/replica_sum.h"

namespace linac::train {
namespace {

constexpr int kTag = 18;

// The chunks of a rank, in groups that are a message each.
std::vector<std::vector<int64_t>> messages_of(const comm::Group& group, int rank, int64_t replicas, int parts,
                                              int64_t chunks, const std::function<size_t(int64_t)>& size) {
  std::vector<std::vector<int64_t>> messages;
  size_t floats = 0;
  for (const int piece : comm::owned_replicas(static_cast<int>(replicas) * parts, group.view(), rank)) {
    if (piece % parts != 0) continue;
    for (int64_t chunk = piece / parts; chunk < chunks; chunk += replicas) {
      if (messages.empty() || floats + size(chunk) > kMessageFloats) {
        messages.emplace_back();
        floats = 0;
      }
      messages.back().push_back(chunk);
      floats += size(chunk);
    }
  }
  return messages;
}

}  // namespace

void collect_chunks(comm::Group& group, int64_t replicas, int parts, std::vector<std::vector<float>>& chunks,
                    const std::function<size_t(int64_t)>& size) {
  std::vector<float> message;
  const auto chunk = [&](int64_t number) -> std::vector<float>& { return chunks[static_cast<size_t>(number)]; };
  for (int rank = 1; rank < group.size(); ++rank) {
    if (group.rank() != 0 && group.rank() != rank) continue;
    for (const auto& numbers : messages_of(group, rank, replicas, parts, static_cast<int64_t>(chunks.size()), size)) {
      message.clear();
      if (group.rank() == rank) {
        for (const int64_t number : numbers) {
          message.insert(message.end(), chunk(number).begin(), chunk(number).end());
          chunk(number) = {};
        }
        group.send(message, 0, kTag);
      } else {
        for (const int64_t number : numbers) message.resize(message.size() + size(number));
        group.receive(message, rank, kTag);
        auto next = message.cbegin();
        for (const int64_t number : numbers) {
          const auto end = next + static_cast<int64_t>(size(number));
          chunk(number).assign(next, end);
          next = end;
        }
      }
      piece_is_done();
    }
  }
}

}  // namespace linac::train
