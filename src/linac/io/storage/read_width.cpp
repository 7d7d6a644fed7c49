#include "linac/io/storage/read_width.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"

namespace linac::storage {
namespace {

// A span that is judged: shorter ones, or of few pieces, say little.
constexpr std::chrono::milliseconds kSpan{250};
constexpr int64_t kSpanPieces = 8;
constexpr double kGain = 1.1;  // less is noise
constexpr int kRestMax = 64;

}  // namespace

WidthSearch::WidthSearch(std::optional<int> files, std::optional<int> reads)
    : fixed_files_(files.has_value()),
      fixed_reads_(reads.has_value()),
      now_{files.value_or(kWidthFirst.files), reads.value_or(kWidthFirst.reads)},
      best_(now_) {
  LINAC_CHECK(now_.files >= 1 && now_.files <= kWidthMax.files && now_.reads >= 1 && now_.reads <= kWidthMax.reads);
}

void WidthSearch::try_next() {
  const bool files_may = !fixed_files_ && best_.files < kWidthMax.files;
  const bool reads_may = !fixed_reads_ && best_.reads < kWidthMax.reads;
  // What has just helped may help again; what has not gives way to the other.
  const bool files_turn = tried_ == Tried::kNothing || (tried_ == Tried::kFiles) == (failed_ == 0);
  now_ = best_;
  if (failed_ >= static_cast<int>(files_may) + static_cast<int>(reads_may)) {
    tried_ = Tried::kNothing;
    failed_ = 0;
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kRestMax);
    return;
  }
  tried_ = files_may && (files_turn || !reads_may) ? Tried::kFiles : Tried::kReads;
  if (tried_ == Tried::kFiles)
    now_.files = std::min(2 * now_.files, kWidthMax.files);
  else
    now_.reads = std::min(2 * now_.reads, kWidthMax.reads);
}

void WidthSearch::saw(double rate) {
  if (rest_ > 0) {
    --rest_;
    return;
  }
  if (tried_ != Tried::kNothing && rate < kGain * best_rate_) {
    ++failed_;
  } else {
    if (tried_ != Tried::kNothing) failed_ = 0;
    best_ = now_;
    best_rate_ = rate;
  }
  try_next();
}

void ReadWidth::begin_span() {
  since_ = Clock::now();
  waited_ = {};
  bytes_ = pieces_ = 0;
}

void ReadWidth::fix(std::optional<int> files, std::optional<int> reads) {
  const std::scoped_lock lock(mutex_);
  search_ = WidthSearch(files, reads);
  begin_span();
}

Width ReadWidth::now() const {
  const std::scoped_lock lock(mutex_);
  return search_.now();
}

void ReadWidth::came(int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (waiting_ == 0) return;
  bytes_ += bytes;
  ++pieces_;
  const Clock::duration took = waited_ + (Clock::now() - since_);
  if (took < kSpan || pieces_ < kSpanPieces) return;
  const Width before = search_.now();
  search_.saw(static_cast<double>(bytes_) / std::chrono::duration<double>(took).count());
  if (const Width& now = search_.now(); now != before)
    log::debug(fmt::format("[storage] {:.3g} MB/s while somebody waited; now {} side by side, {} of each",
                           static_cast<double>(bytes_) / 1e6 / std::chrono::duration<double>(took).count(),
                           plural(now.files, "file"), plural(now.reads, "range")));
  begin_span();
}

ReadWidth::Wait::Wait(ReadWidth& width) : width_(width) {
  const std::scoped_lock lock(width_.mutex_);
  if (width_.waiting_++ == 0) width_.since_ = Clock::now();
}

ReadWidth::Wait::~Wait() {
  const std::scoped_lock lock(width_.mutex_);
  if (--width_.waiting_ == 0) width_.waited_ += Clock::now() - width_.since_;
}

ReadWidth& read_width() {
  static ReadWidth width;
  return width;
}

}  // namespace linac::storage
