#include "linac/train/comm/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/base/trace.h"

namespace linac::comm {
namespace {

constexpr int kBroadcastTag = Group::kMaxTag + 1;
constexpr int kBarrierTag = Group::kMaxTag + 2;
constexpr int kTextTag = Group::kMaxTag + 3;
constexpr int kSplitTag = Group::kMaxTag + 4;

// A broadcast goes down a tree of several levels; in pieces, all levels work at the same time.
constexpr size_t kBroadcastPieceBytes = 1 << 20;

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// Of the ranks [begin, end).
template <class Thing>
std::span<Thing> part_of(std::vector<Thing>& by_rank, int begin, int end) {
  return std::span(by_rank).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

void Group::fail(const char* operation, int peer, const std::string& why) {
  if (!closed_) {
    closed_ = true;
    close();
  }
  const std::string where = name_.empty() ? "" : fmt::format(" in '{}'", name_);
  const std::string who = peer < 0 ? "the ranks have ended or do not answer"
                                   : fmt::format("rank {} has ended or does not answer", origin(peer));
  throw Error(ErrorCode::kPeerLost,
              fmt::format("[comm] rank {}: {}{}: {} ({}); see {} messages, then go on from the "
                          "last checkpoint",
                          origin(rank_), operation, where, who, why, peer < 0 ? "their" : "that rank's"));
}

Group::Group(int rank, int size) : rank_(rank) {
  view_ = {.number = 1, .members = {}, .next_seniority = size};
  for (int i = 0; i < size; ++i) view_.members.push_back({.seniority = i, .key = static_cast<uint64_t>(i) + 1});
}

Group::Group(Part part)
    : rank_(part.rank),
      view_(std::move(part.view)),
      channel_(part.channel),
      name_(std::move(part.name)),
      origins_(std::move(part.origins)) {}

bool Group::next_view(const std::string& why) {
  LINAC_CHECK(channel_ == 0);
  if (!closed_) close();
  closed_ = true;
  const bool goes_on = reopen(why);
  closed_ = !goes_on;
  return goes_on;
}

bool Group::reopen(const std::string& why) {
  throw Error(ErrorCode::kPeerLost, why);
}

void Group::tell(double pace_s, std::string account) {
  own_.pace_s = pace_s;
  own_.account = std::move(account);
}

std::vector<Activity> Group::activities() const {
  std::vector<Activity> all(static_cast<size_t>(size()));
  all[static_cast<size_t>(rank_)] = own_;
  return all;
}

void Group::exchange_parts(std::span<const Outward> sends, std::span<const Inward> receives, int tag,
                           const char* operation) {
  if (sends.empty() && receives.empty()) return;
  const int first = sends.empty() ? receives.front().from : sends.front().to;
  if (closed_) fail(operation, first, "the group ended earlier");
  const Stopwatch stopwatch(traffic_.seconds);
  const trace::Span span(operation);
  waiting_for(sends.size() + receives.size() == 1 ? origin(first) : -1, operation);
  const auto begin = heard_all_at_ = std::chrono::steady_clock::now();
  try {
    exchange_bytes(sends, receives, tag);
  } catch (const PeerFailed& error) {
    fail(operation, error.peer, error.what());
  }
  if (!receives.empty()) note_wait(begin);
  for (const Outward& message : sends) traffic_.bytes += static_cast<int64_t>(message.data.size());
  traffic_.messages += static_cast<int64_t>(sends.size());
}

void Group::note_wait(std::chrono::steady_clock::time_point begin) {
  const std::chrono::nanoseconds from = begin.time_since_epoch(), to = heard_all_at_.time_since_epoch();
  trace::add("wait for others", from.count(), to.count());
  if (waits_ == nullptr) return;
  waits_->push_back({std::chrono::duration<double>(from).count(), std::chrono::duration<double>(to).count()});
}

void Group::send_part(std::span<const std::byte> data, int to, int tag, const char* operation) {
  LINAC_CHECK(to >= 0 && to < size() && to != rank_);
  const Outward message{to, data};
  if (!data.empty()) exchange_parts({&message, 1}, {}, tag, operation);
}

void Group::receive_part(std::span<std::byte> data, int from, int tag, const char* operation) {
  LINAC_CHECK(from >= 0 && from < size() && from != rank_);
  const Inward message{from, data};
  if (!data.empty()) exchange_parts({}, {&message, 1}, tag, operation);
}

// A binomial tree over the places in the list: place v hears from v without its lowest bit, and tells v + 2^k for every
// 2^k below that bit.
void Group::broadcast_along(std::span<const int> ranks, std::span<std::byte> data, int tag, const char* operation) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank_);
  LINAC_CHECK(found != ranks.end());
  const auto place = static_cast<size_t>(found - ranks.begin());
  const size_t lowest_bit = place == 0 ? std::bit_ceil(ranks.size()) : place & -place;
  for (size_t first = 0; first < data.size(); first += kBroadcastPieceBytes) {
    const auto piece = data.subspan(first, std::min(kBroadcastPieceBytes, data.size() - first));
    if (place != 0) receive_part(piece, ranks[place - lowest_bit], tag, operation);
    for (size_t step = lowest_bit / 2; step >= 1; step /= 2) {
      if (place + step < ranks.size()) send_part(piece, ranks[place + step], tag, operation);
    }
  }
}

// Over all ranks, counted from the root.
void Group::broadcast_bytes(std::span<std::byte> data, int root, int tag, const char* operation) {
  std::vector<int> ranks(static_cast<size_t>(size()));
  for (int i = 0; i < size(); ++i) ranks[static_cast<size_t>(i)] = (root + i) % size();
  broadcast_along(ranks, data, tag, operation);
}

void Group::broadcast(std::span<float> data, int root) {
  LINAC_CHECK(root >= 0 && root < size());
  broadcast_bytes(std::as_writable_bytes(data), root, kBroadcastTag, "broadcast");
}

void Group::broadcast_among(std::span<const int> ranks, std::span<std::byte> data) {
  broadcast_along(ranks, data, kBroadcastTag, "broadcast");
}

void Group::exchange(std::span<const Outward> sends, std::span<const Inward> receives, int tag) {
  LINAC_CHECK(tag >= 0 && tag <= kMaxTag);
  for (const Outward& message : sends) LINAC_CHECK(message.to >= 0 && message.to < size() && message.to != rank_);
  for (const Inward& message : receives)
    LINAC_CHECK(message.from >= 0 && message.from < size() && message.from != rank_);
  exchange_parts(sends, receives, tag, "exchange");
}

void Group::send(std::span<const float> data, int to, int tag) {
  LINAC_CHECK(tag >= 0 && tag <= kMaxTag);
  send_part(std::as_bytes(data), to, tag, "send");
}

void Group::receive(std::span<float> data, int from, int tag) {
  LINAC_CHECK(tag >= 0 && tag <= kMaxTag);
  receive_part(std::as_writable_bytes(data), from, tag, "receive");
}

std::unique_ptr<Group> Group::split(int colour, int key, const std::string& name) {
  LINAC_CHECK(size() > 0 && !name.empty());
  struct Wish {
    uint64_t name;
    int32_t colour, key;
  };
  std::vector<Wish> wishes(static_cast<size_t>(size()));
  const Wish mine{fnv1a_64(name), colour, key};
  wishes[static_cast<size_t>(rank_)] = mine;
  up_the_tree(
      [&](int child, int end) {
        receive_part(std::as_writable_bytes(part_of(wishes, child, end)), child, kSplitTag, "split");
      },
      [&](int parent, int end) { send_part(std::as_bytes(part_of(wishes, rank_, end)), parent, kSplitTag, "split"); });
  broadcast_bytes(std::as_writable_bytes(std::span(wishes)), 0, kSplitTag, "split");
  for (int rank = 0; rank < size(); ++rank) {
    if (wishes[static_cast<size_t>(rank)].name != mine.name)
      fail("split", rank,
           fmt::format("it opens another channel than '{}'; do all workers run the same program?", name));
  }

  ++channels_made_;
  if (colour == kNoColour) return nullptr;
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank)
    if (wishes[static_cast<size_t>(rank)].colour == colour) members.push_back(rank);
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return wishes[static_cast<size_t>(a)].key < wishes[static_cast<size_t>(b)].key;
  });
  // Groups of different colours have no member in common, so they may share a number.
  Part part{
      .view = view_,
      .rank = 0,
      .channel =
          mix(mix(channel_ ^ mix(static_cast<uint64_t>(view_.number))) + static_cast<uint64_t>(channels_made_)) | 1,
      .name = name_.empty() ? name : name_ + "/" + name,
      .origins = {}};
  part.view.members.clear();
  for (const int rank : members) {
    if (rank == rank_) part.rank = part.view.size();
    part.view.members.push_back(view_.members[static_cast<size_t>(rank)]);
    part.view.members.back().share = 0;
    part.origins.push_back(origin(rank));
  }
  return open_part(std::move(part));
}

// Along the broadcast's tree of root 0, so that no rank needs a link to all others: first from each child, which speaks
// for the ranks [child, end), then to the parent for [own rank, end).
void Group::up_the_tree(const std::function<void(int child, int end)>& from_child,
                        const std::function<void(int parent, int end)>& to_parent) const {
  for (int step = 1; step < size(); step *= 2) {
    if ((rank_ & step) != 0) return to_parent(rank_ - step, std::min(rank_ + step, size()));
    if (rank_ + step < size()) from_child(rank_ + step, std::min(rank_ + 2 * step, size()));
  }
}

void Group::barrier() {
  std::byte token{0};
  up_the_tree(
      [&](int child, int) {
        receive_part({&token, 1}, child, kBarrierTag, "barrier");
      },
      [&](int parent, int) {
        send_part({&token, 1}, parent, kBarrierTag, "barrier");
      });
  broadcast_bytes({&token, 1}, 0, kBarrierTag, "barrier");
}

std::vector<std::string> Group::gather_text(const std::string& mine) {
  if (mine.size() > kMaxTextBytes) {
    throw user_error(fmt::format("[comm] rank {}: a text of {} bytes is too long to gather (at most {})", rank_,
                                 mine.size(), kMaxTextBytes));
  }
  std::vector<std::string> texts(static_cast<size_t>(size()));
  texts[static_cast<size_t>(rank_)] = mine;
  up_the_tree([&](int child, int end) { receive_texts(part_of(texts, child, end), child); },
              [&](int parent, int end) { send_texts(part_of(texts, rank_, end), parent); });
  if (rank_ != 0) texts.clear();
  return texts;
}

void Group::send_texts(std::span<const std::string> texts, int to) {
  std::vector<uint64_t> lengths;
  std::string all;
  for (const std::string& text : texts) {
    lengths.push_back(text.size());
    all += text;
  }
  send_part(std::as_bytes(std::span(lengths)), to, kTextTag, "gather");
  send_part(std::as_bytes(std::span(all)), to, kTextTag, "gather");
}

void Group::receive_texts(std::span<std::string> texts, int from) {
  std::vector<uint64_t> lengths(texts.size());
  receive_part(std::as_writable_bytes(std::span(lengths)), from, kTextTag, "gather");
  uint64_t total = 0;
  for (const uint64_t length : lengths) {
    if (length > kMaxTextBytes) fail("gather", from, "it sent something else than texts");
    total += length;
  }
  std::string all(total, ' ');
  receive_part(std::as_writable_bytes(std::span(all)), from, kTextTag, "gather");
  size_t at = 0;
  for (size_t i = 0; i < texts.size(); at += lengths[i++]) texts[i] = all.substr(at, lengths[i]);
}

}  // namespace linac::comm
