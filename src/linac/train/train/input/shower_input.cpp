#include "linac/train/train/input/shower_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/train/train/input/input.h"
#include "linac/train/train/record/record.h"

namespace linac::train {
namespace {

// Of those that are not opened.
constexpr size_t kFilesShown = 12;

primaries::TrainedRange range_of(const data::Dataset& set) {
  return {.energy_gev = set.energies_gev(), .theta_rad = set.angles()};
}

Range over_both(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

std::shared_ptr<const data::Dataset> open(const job::Job& job, const std::vector<std::string>& urls) {
  return data::Dataset::open(urls, fields(job), preprocessing(job));
}

std::shared_ptr<data::WindowedShowers> windowed(const job::Job& job) {
  fix_read_width(job);  // before the first file is opened
  if (job.data.shuffle_window == 0) return nullptr;
  return data::windowed_showers(job.data.train, fields(job), preprocessing(job), job.data.shuffle_window);
}

nlohmann::json described(const data::FileReport& file) {
  nlohmann::json json = file_json(file);
  json["kept"] = file.kept;
  return json;
}

// The first batch of each file, cut to what it has, so that a file that opens but cannot be read is found now.
void read_first_batches(int64_t batch_events, const data::Dataset& dataset) {
  int64_t first = 0;
  for (const data::FileReport& file : dataset.files()) {
    std::vector<int64_t> events;
    for (int64_t i = 0; i < std::min(batch_events, file.kept); ++i) events.push_back(first + i);
    data::SampleBatch batch;
    dataset.read(events, batch);
    first += file.kept;
  }
}

std::string line_of(const char* role, const data::FileReport& file) {
  return fmt::format("{:<6} {}: {}, {} events ({} kept), {}, {:.1f}-{:.1f} GeV, {:.2f}-{:.2f} rad", role, file.url,
                     file.format, file.events, file.kept, data::to_string(file.shape), file.energy_gev_min,
                     file.energy_gev_max, file.angle_min, file.angle_max);
}

}  // namespace

ShowerInput::ShowerInput(const job::Job& job)
    : job_(job),
      windowed_(windowed(job)),
      train_(windowed_ ? windowed_->first() : open(job, job.data.train)),
      test_(job.data.test.empty() ? nullptr : open(job, job.data.test)) {
  if (windowed_) windowed_->check_each([this](const data::Dataset& file) { remember(file); });
  opened_s_ = PhaseClock::now().wall - begun_;
}

void ShowerInput::remember(const data::Dataset& file) {
  const std::scoped_lock lock(mutex_);
  ranges_[file.files().front().url] = range_of(file);
}

nlohmann::json ShowerInput::json() const {
  nlohmann::json train = nlohmann::json::array(), test = nlohmann::json::array();
  if (!windowed_)
    for (const data::FileReport& file : train_->files()) train.push_back(described(file));
  if (windowed_) {
    // Of those that nobody has opened no more is known than the version.
    for (const data::FileVersion& file : windowed_->files()) {
      const bool is_open = file.url == train_->files().front().url;
      train.push_back(is_open ? described(train_->files().front())
                              : nlohmann::json{{"url", file.url}, {"bytes", file.bytes}});
      train.back()["fingerprint"] = file.fingerprint;
    }
  }
  nlohmann::json data{{"train", train}};
  if (!test_) return data;
  for (const data::FileReport& file : test_->files()) test.push_back(described(file));
  data["test"] = test;
  return data;
}

std::vector<std::string> ShowerInput::describe() const {
  std::vector<std::string> lines;
  const auto describe_set = [&](const char* role, const data::Dataset& set) {
    read_first_batches(job_.train.batch, set);
    for (const data::FileReport& file : set.files()) lines.push_back(line_of(role, file));
  };
  describe_set("train", *train_);
  if (windowed_) {
    for (const data::FileVersion& file : windowed_->files()) {
      if (file.url == train_->files().front().url) continue;
      if (lines.size() == kFilesShown) {
        lines.push_back(fmt::format("train  and {} others", windowed_->files().size() - lines.size()));
        break;
      }
      lines.push_back(
          fmt::format("train  {}: {:.1f} MB, not opened yet", file.url, static_cast<double>(file.bytes) / 1e6));
    }
  }
  if (test_) describe_set("test", *test_);
  lines.push_back(order_in_words(job_, windowed_ ? windowed_->files().size() : train_->files().size()));
  return lines;
}

primaries::TrainedRange ShowerInput::range(const std::optional<InputPlace>& place) const {
  return windowed_ && place && place->seen ? *place->seen : range_of(*train_);
}

void ShowerInput::seek(const TrainState& state, const std::vector<int>& owned) {
  const data::BatchStreamOptions options = stream_options(job_, state, train_events(), owned);
  seed_ = options.seed;
  seen_ = state.input ? state.input->seen : std::nullopt;
  if (windowed_)
    windowed_stream_.emplace(windowed_, options, stream_position(state));
  else
    stream_.emplace(train_, options, stream_position(state));
}

ShowerInput::Step ShowerInput::next() {
  if (!windowed_) return {stream_->next().replicas, std::nullopt};
  data::BatchStream<data::WindowedShowers>::Step step = windowed_stream_->next();
  const std::scoped_lock lock(mutex_);
  for (const uint32_t file : step.files) {
    const auto range = ranges_.find(windowed_->files()[file].url);
    if (range == ranges_.end()) continue;  // of a file without events
    const primaries::TrainedRange& one = range->second;
    seen_ = seen_ ? primaries::TrainedRange{over_both(seen_->energy_gev, one.energy_gev),
                                            over_both(seen_->theta_rad, one.theta_rad)}
                  : one;
  }
  return {std::move(step.replicas), InputPlace{seed_, step.position.epoch, step.window, seen_}};
}

data::SampleBatch ShowerInput::batch_of(const TrainState& state, int replica) {
  const data::Position here = stream_position(state);
  return windowed_ ? windowed_stream_->read(here, replica) : stream_->read(here, replica);
}

}  // namespace linac::train
