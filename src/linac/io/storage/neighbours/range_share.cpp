#include "linac/io/storage/neighbours/range_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/source.h"

namespace linac::storage {
namespace {

constexpr size_t kSourcesMax = 64;

std::mutex share_mutex;
std::shared_ptr<RangeShare> share_in_use;

uint64_t hash_of(const std::string& text) {
  return checksum(std::as_bytes(std::span(text)));
}

uint64_t hash_of(const FileRange& range) {
  return hash_of(fmt::format("{}\n{}\n{}\n{}", range.url, range.version, range.offset, range.bytes));
}

uint64_t weight_of(uint64_t name, uint64_t range) {
  const std::array both{name, range};
  return checksum(std::as_bytes(std::span(both)));
}

bool makes_sense(const FileRange& range) {
  return range.offset >= 0 && RangeShare::is_shared(range.bytes) && range.size >= range.bytes &&
         range.offset <= range.size - range.bytes;
}

}  // namespace

void use_range_share(std::shared_ptr<RangeShare> share) {
  const std::scoped_lock lock(share_mutex);
  share_in_use = std::move(share);
}

std::shared_ptr<RangeShare> range_share() {
  const std::scoped_lock lock(share_mutex);
  return share_in_use;
}

void read_shared(const FileRange& range, std::span<std::byte> bytes, const RangeShare::FromStore& from_store) {
  const auto share = range.version.empty() ? nullptr : range_share();
  if (share)
    share->read(range, bytes, from_store);
  else
    from_store(bytes);
}

RangeShare::RangeShare(Settings settings)
    : settings_(std::move(settings)), spill_(settings_.folder, settings_.disk_bytes) {}

RangeShare::~RangeShare() = default;

void RangeShare::set_neighbours(const std::string& self, std::vector<std::string> names,
                                std::shared_ptr<RangeLinks> links) {
  std::ranges::sort(names);
  std::shared_ptr<const Neighbours> neighbours;
  if (links && names.size() >= 2) {
    std::vector<uint64_t> hashes;
    for (const std::string& name : names) hashes.push_back(hash_of(name));
    neighbours =
        std::make_shared<const Neighbours>(Neighbours{self, std::move(names), std::move(hashes), std::move(links)});
  }
  const std::scoped_lock lock(mutex_);
  neighbours_ = std::move(neighbours);
}

std::string RangeShare::owner_of(const FileRange& range, const Neighbours& neighbours) {
  const auto now = Clock::now();
  const uint64_t hash = hash_of(range);
  const std::string* owner = nullptr;
  uint64_t heaviest = 0;
  const std::scoped_lock lock(mutex_);
  for (size_t i = 0; i < neighbours.names.size(); ++i) {
    const auto resting = resting_.find(neighbours.names[i]);
    if (resting != resting_.end() && now < resting->second) continue;
    const uint64_t weight = weight_of(neighbours.hashes[i], hash);
    if (owner != nullptr && weight <= heaviest) continue;
    owner = &neighbours.names[i];
    heaviest = weight;
  }
  return owner == nullptr ? std::string() : *owner;
}

void RangeShare::rest(const std::string& name, Clock::time_point until) {
  const std::scoped_lock lock(mutex_);
  resting_[name] = std::max(resting_[name], until);
}

void RangeShare::read_at_store(std::span<std::byte> bytes, const FromStore& from_store) {
  from_store(bytes);
  const std::scoped_lock lock(mutex_);
  counts_.from_stores += std::ssize(bytes);
}

/// As long as it lives the range counts as asked for.
class RangeShare::Asked {
 public:
  Asked(RangeShare& share, const FileRange& range) : share_(share), range_(range) {}
  ~Asked() {
    const std::scoped_lock lock(share_.mutex_);
    share_.asked_.erase(range_);
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

 private:
  RangeShare& share_;
  const FileRange& range_;
};

void RangeShare::read(const FileRange& range, std::span<std::byte> bytes, const FromStore& from_store) {
  std::shared_ptr<const Neighbours> neighbours;
  {
    const std::scoped_lock lock(mutex_);
    neighbours = neighbours_;
  }
  const std::string owner = neighbours && is_shared(range.bytes) ? owner_of(range, *neighbours) : std::string();
  if (owner.empty()) return read_at_store(bytes, from_store);
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = asked_.insert(range).second;
  }
  if (!first) {
    read_at_store(bytes, from_store);
    if (owner != neighbours->self && is_asked(range)) rest(owner, Clock::now() + kRest);
    return;
  }
  const Asked asked(*this, range);
  const bool whole = owner == neighbours->self ? take(range, bytes, from_store) : ask(owner, range, bytes, *neighbours);
  if (!whole) read_at_store(bytes, from_store);
}

// What lay in memory for a while is looked at again before it trains.
bool RangeShare::take(const FileRange& range, std::span<std::byte> bytes, const FromStore& from_store) {
  const auto held = hold(range, from_store);
  std::ranges::copy(held->content(), bytes.begin());
  if (checksum(bytes) == held->checksum) return true;
  forget(range, held);
  log::warn(
      fmt::format("[storage] bytes of {} that this host kept in memory are damaged: the store is asked again; "
                  "look at the memory of this host",
                  net::without_secrets(range.url)));
  return false;
}

void RangeShare::forget(const FileRange& range, const std::shared_ptr<const Held>& held) {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(range);
  if (entry == entries_.end() || entry->second.held != held) return;
  used_.erase(entry->second.used);
  memory_ -= range.bytes;
  entries_.erase(entry);
}

bool RangeShare::is_asked(const FileRange& range) const {
  const std::scoped_lock lock(mutex_);
  return asked_.contains(range);
}

bool RangeShare::ask(const std::string& owner, const FileRange& range, std::span<std::byte> bytes,
                     const Neighbours& neighbours) {
  uint64_t said = 0;
  const bool answered = neighbours.links->ask(owner, range, bytes, said);
  const bool whole = answered && checksum(bytes) == said;
  if (!whole) rest(owner, answered ? Clock::time_point::max() : Clock::now() + kRest);
  const std::scoped_lock lock(mutex_);
  if (whole) {
    counts_.from_others += std::ssize(bytes);
  } else if (answered) {
    ++counts_.damaged;
    log::warn(
        fmt::format("[storage] {} sent bytes of {} that are damaged: it is asked for no more, and the store is; "
                    "look at the memory and the disk of that host",
                    owner, net::without_secrets(range.url)));
  } else {
    ++counts_.failed;
  }
  return whole;
}

std::shared_ptr<RangeShare::Held> RangeShare::bring(const FileRange& range, const FromStore& from_store) {
  auto held = std::make_shared<Held>(range.bytes);
  if (const auto known = spill_.read(range, held->content())) {
    held->checksum = *known;
    return held;
  }
  read_at_store(held->content(), from_store);
  held->checksum = checksum(held->content());
  return held;
}

std::shared_ptr<const RangeShare::Held> RangeShare::hold(const FileRange& range, const FromStore& from_store) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto [found, fresh] = entries_.try_emplace(range);
    if (fresh) break;
    if (const auto& held = found->second.held) {
      used_.splice(used_.begin(), used_, found->second.used);
      return held;
    }
    came_.wait(lock);  // whoever brings it, or fails and leaves that to the next one
  }
  lock.unlock();
  std::shared_ptr<Held> held;
  std::exception_ptr error;
  try {
    held = bring(range, from_store);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (error) {
    entries_.erase(range);
  } else {
    used_.push_front(range);
    entries_[range] = {held, used_.begin()};
    memory_ += range.bytes;
  }
  came_.notify_all();
  if (error) std::rethrow_exception(error);
  let_go(lock);
  return held;
}

// What was used longest ago goes to the disk, where there is room.
void RangeShare::let_go(std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<FileRange, std::shared_ptr<Held>>> old;
  while (memory_ > settings_.memory_bytes && !used_.empty()) {
    const auto entry = entries_.find(used_.back());
    memory_ -= entry->first.bytes;
    old.emplace_back(entry->first, std::move(entry->second.held));
    entries_.erase(entry);
    used_.pop_back();
  }
  lock.unlock();
  for (const auto& [range, held] : old) spill_.add(range, held->content(), held->checksum);
  lock.lock();
}

// One that was opened for neighbours before serves as long as it is of this version.
std::shared_ptr<const Source> RangeShare::source_of(const FileRange& range) {
  {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(sources_, range.url, &decltype(sources_)::value_type::first);
    if (known != sources_.end() && known->second->version() == range.version) {
      sources_.splice(sources_.begin(), sources_, known);
      return known->second;
    }
    if (known != sources_.end()) sources_.erase(known);
  }
  auto source = Source::open(range.url);
  if (!source->is_ranged() || source->version() != range.version || source->size() != range.size) return nullptr;
  const std::scoped_lock lock(mutex_);
  sources_.emplace_front(range.url, source);
  if (sources_.size() > kSourcesMax) sources_.pop_back();
  return source;
}

std::shared_ptr<const RangeShare::Held> RangeShare::give(const FileRange& range) {
  if (!makes_sense(range)) return nullptr;
  try {
    if (!is_remote(range.url)) return nullptr;
    auto held = hold(range, [&](std::span<std::byte> bytes) {
      const auto source = source_of(range);
      if (!source) throw data_error("another version");
      source->read_at_store(range.offset, bytes);
    });
    const std::scoped_lock lock(mutex_);
    counts_.to_others += range.bytes;
    return held;
  } catch (const std::exception& error) {
    log::debug(fmt::format("[storage] not given to another worker: {}", error.what()));
    return nullptr;
  }
}

void RangeShare::clear() {
  {
    const std::scoped_lock lock(mutex_);
    for (const FileRange& range : used_) entries_.erase(range);
    used_.clear();
    memory_ = 0;
    sources_.clear();
  }
  spill_.clear();
}

RangeShare::Counts RangeShare::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace linac::storage
