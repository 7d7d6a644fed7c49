#include "linac/io/storage/link_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "linac/base/base/answer_within.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/read_ahead.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kPartBytesMax = int64_t{1} << 20;
constexpr double kPartSeconds = 0.25;  // about

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// The files of one place, read by a few threads: each takes the next part that nobody has.
class Probe {
 public:
  explicit Probe(std::vector<std::string> urls) : urls_(std::move(urls)) {}

  /// Why nothing can be measured; empty if it has been. Errors of the Source.
  std::string run() {
    if (const std::string why_not = open(); !why_not.empty()) return why_not;
    ThreadPool pool(kAheadConnections);
    pool.run(kAheadConnections, [this](int) { read_parts(); });
    return "";
  }

  /// Of what has come so far; also while run() goes on.
  void add_to(LinkRate& rate) const {
    const std::scoped_lock lock(mutex_);
    if (counted_.bytes > 0) {
      rate.bytes = counted_.bytes;
      rate.seconds = static_cast<double>(counted_.bytes) / counted_.bytes_per_s;
    } else if (begun_) {
      rate.bytes = first_bytes_;
      rate.seconds = seconds_between(*begun_, first_bytes_ > 0 ? last_ : Clock::now());
    }
  }

 private:
  struct Part {
    std::shared_ptr<const Source> source;
    int64_t offset = 0, bytes = 0;
  };

  std::string open() {
    int64_t bytes = 0;
    for (const std::string& url : urls_) {
      if (store_of(url).open(url)->version().empty())
        return "its server names no version of its files, or sends no parts: they are fetched whole";
      sources_.push_back(Source::open(url));
      bytes += sources_.back()->size();
      if (bytes >= kProbeBytes || sources_.size() == kProbeFilesMax) break;
    }
    if (bytes <= 2 * kAheadConnections * kProbeFirstBytes) return "its files are small";
    const std::scoped_lock lock(mutex_);
    begun_ = Clock::now();
    return "";
  }

  std::optional<Part> next(int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (asked_ >= kProbeBytes || Clock::now() - *begun_ >= kProbeTime) return std::nullopt;
    while (file_ < sources_.size() && offset_ == sources_[file_]->size()) {
      ++file_;
      offset_ = 0;
    }
    if (file_ == sources_.size()) return std::nullopt;
    Part part{sources_[file_], offset_, std::min(bytes, sources_[file_]->size() - offset_)};
    offset_ += part.bytes;
    asked_ += part.bytes;
    return part;
  }

  void read_parts() {
    std::vector<std::byte> room;
    int64_t wanted = kProbeFirstBytes, bytes = 0;
    double seconds = 0, bytes_per_s = 0;
    bool is_first = true;
    while (const std::optional<Part> part = next(wanted)) {
      room.resize(static_cast<size_t>(part->bytes));
      const auto begin = Clock::now();
      part->source->read(part->offset, room);
      const auto end = Clock::now();
      const double took = std::max(seconds_between(begin, end), 1e-6);
      wanted = std::clamp(static_cast<int64_t>(kPartSeconds * static_cast<double>(part->bytes) / took),
                          kProbeFirstBytes, kPartBytesMax);
      const std::scoped_lock lock(mutex_);
      if (is_first) {
        first_bytes_ += part->bytes;
        last_ = std::max(last_, end);
        is_first = false;
        continue;
      }
      bytes += part->bytes;
      seconds += took;
      counted_.bytes += part->bytes;
      counted_.bytes_per_s -= bytes_per_s;  // of all connections side by side
      bytes_per_s = static_cast<double>(bytes) / seconds;
      counted_.bytes_per_s += bytes_per_s;
    }
  }

  const std::vector<std::string> urls_;
  std::vector<std::shared_ptr<const Source>> sources_;

  mutable std::mutex mutex_;
  std::optional<Clock::time_point> begun_;
  size_t file_ = 0;  // of the next part
  int64_t offset_ = 0, asked_ = 0;
  int64_t first_bytes_ = 0;  // of the connections' first parts, and when the last of them was there
  Clock::time_point last_{};
  struct {
    int64_t bytes = 0;
    double bytes_per_s = 0;
  } counted_;
};

void probe(LinkRate& rate, const std::vector<std::string>& urls, std::chrono::milliseconds patience) {
  const auto probe = std::make_shared<Probe>(urls);
  try {
    const auto why_not = ask_within(patience, [probe] { return probe->run(); });
    rate.why_not = why_not.value_or("");
    if (!why_not || why_not->empty()) probe->add_to(rate);
    if (!why_not && !rate.is_measured())
      rate.why_not = fmt::format("no answer within {:.0f} s", std::chrono::duration<double>(patience).count());
  } catch (const std::exception& error) {
    rate.why_not = error.what();
  }
}

}  // namespace

std::string place_of(const std::string& url) {
  if (!is_remote(url)) return kThisHost;
  const std::string plain = net::without_secrets(url);
  const std::string_view ends = scheme_of(url) == "rucio" ? "/:" : "/";
  return plain.substr(0, plain.find_first_of(ends, plain.find("://") + 3));
}

std::vector<LinkRate> probe_links(const std::vector<std::string>& urls) {
  std::vector<LinkRate> rates;
  std::vector<std::vector<std::string>> files;  // of each
  for (const std::string& url : urls) {
    const std::string place = place_of(url);
    const auto found = std::ranges::find(rates, place, &LinkRate::place);
    const auto i = static_cast<size_t>(found - rates.begin());
    if (found == rates.end()) {
      rates.push_back({.place = place, .is_remote = is_remote(url)});
      files.emplace_back();
    }
    files[i].push_back(url);
  }
  const auto end = Clock::now() + kProbeTimeInAll;
  size_t tried = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (!rates[i].is_remote) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (tried == kProbePlacesMax || left <= kProbeTime) {
      rates[i].why_not = "other places have been tried first";
      continue;
    }
    ++tried;
    probe(rates[i], files[i], std::min<std::chrono::milliseconds>(left, kProbePatience));
  }
  return rates;
}

}  // namespace linac::storage
