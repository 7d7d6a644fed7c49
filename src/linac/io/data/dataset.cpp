#include "linac/io/data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/io/data/cache/shower_copy.h"
#include "linac/io/data/order/in_order.h"
#include "linac/io/data/order/open_files.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/range_rooms.h"

namespace linac::data {
namespace {

void check(const Preprocessing& preprocessing) {
  const auto need = [](bool holds, const char* what) {
    if (!holds) throw user_error(fmt::format("[data] {}", what));
  };
  const auto positive = [](double value) { return value > 0 && value <= std::numeric_limits<float>::max(); };
  need(positive(preprocessing.scale), "scale must be positive and finite");
  need(positive(preprocessing.power), "power must be positive and finite");
  need(positive(preprocessing.energy_unit_gev), "the energy's unit must be positive and finite");
  need(preprocessing.threshold >= 0, "threshold must not be negative");
  need(preprocessing.min_sum == preprocessing.min_sum, "min_sum must be a number");
}

/// A file of this host, or the copy of one, and what a scan has found in it.
struct Ready {
  std::filesystem::path path;
  ScannedFile scanned;
};

Range range_over(const std::vector<FileReport>& files, double FileReport::*low, double FileReport::*high) {
  Range range{files.front().*low, files.front().*high};
  for (const FileReport& file : files) range = {std::min(range.low, file.*low), std::max(range.high, file.*high)};
  return range;
}

}  // namespace

std::shared_ptr<const Dataset> Dataset::open(const std::vector<std::string>& urls, const Fields& fields,
                                             const Preprocessing& preprocessing) {
  return opened(storage::expand_all(urls), fields, preprocessing, Empty::kRefused);
}

std::shared_ptr<const Dataset> Dataset::open_one(const std::string& url, const Fields& fields,
                                                 const Preprocessing& preprocessing) {
  return opened({url}, fields, preprocessing, Empty::kFine);
}

Dataset::~Dataset() {
  for (const std::filesystem::path& copy : copies_) storage::release_cached(copy);
}

std::shared_ptr<const Dataset> Dataset::opened(std::vector<std::string> files, const Fields& fields,
                                               const Preprocessing& preprocessing, Empty empty) {
  check(preprocessing);
  const std::shared_ptr<Dataset> set(new Dataset);
  const auto open_files = std::make_shared<OpenFiles>(fields);
  set->preprocessing_ = preprocessing;
  set->numbers_ = fields.numbers.size();
  double sum_max = 0;
  int64_t stored = 0;
  const std::shared_ptr<storage::RangeRooms> rooms = storage::RangeRooms::shared();  // until all files are read
  InOrder<Ready> ready(files.size(), [&](size_t i) {
    const std::filesystem::path path = shower_copy(files[i]);
    return Ready{path, scan_file_cached(path, files[i], fields, preprocessing)};
  });
  for (const std::string& url : files) {
    const auto [path, scanned] = ready.take();
    if (storage::lies_in_cache(path)) set->copies_.push_back(path);
    if (!set->files_.empty() && scanned.report.shape != set->shape()) {
      throw data_error(
          fmt::format("[data] {}: its showers have {} cells, those of {} have {}; train on files of one "
                      "shape",
                      url, to_string(scanned.report.shape), set->files_.front().url, to_string(set->shape())));
    }
    if (!fields.numbers.empty() && scanned.report.format != "hdf5") {
      throw data_error(
          fmt::format("[data] {}: its showers come without {}, which the model needs; train it on HDF5 files", url,
                      fmt::join(fields.numbers, ", ")));
    }
    const auto file = static_cast<uint32_t>(set->files_.size());
    for (const int64_t record : scanned.kept) set->events_.push_back({file, record});
    set->files_.push_back(scanned.report);
    open_files->add(path, scanned);
    sum_max = std::max(sum_max, scanned.sum_max);
    stored += scanned.report.events;
  }
  set->open_files_ = open_files;
  if (empty == Empty::kFine) return set;
  if (stored == 0) {
    throw data_error(fmt::format("[data] {}: no event in {}; name other files", set->files_.front().url,
                                 set->files_.size() == 1 ? "this file" : "this or the other files"));
  }
  if (set->events_.empty()) {
    throw data_error(
        fmt::format("[data] {}: all {} events are dropped, as none sums to more than min_sum = {} (the "
                    "largest sum is {:.4g}); check the units: scale is {}",
                    set->files_.front().url, stored, preprocessing.min_sum, sum_max, preprocessing.scale));
  }
  return set;
}

const Dataset::EventPlace& Dataset::place_of(int64_t event) const {
  LINAC_CHECK(event >= 0 && event < size());
  return events_[static_cast<size_t>(event)];
}

void Dataset::read_stored(int64_t event, ShowerBlock& out) const {
  const EventPlace& place = place_of(event);
  open_files_->get(place.file)->read(place.record, 1, out);
}

Range Dataset::energies_gev() const {
  return range_over(files_, &FileReport::energy_gev_min, &FileReport::energy_gev_max);
}

Range Dataset::angles() const {
  return range_over(files_, &FileReport::angle_min, &FileReport::angle_max);
}

void Dataset::read(std::span<const int64_t> events, SampleBatch& out) const {
  std::vector<size_t> slots(events.size());
  std::iota(slots.begin(), slots.end(), size_t{0});
  prepare(static_cast<int64_t>(events.size()), out);
  read_into(events, slots, out);
}

void Dataset::read_into(std::span<const int64_t> events, std::span<const size_t> slots, SampleBatch& out) const {
  // In the order of the files, which is kinder to disks and to chunks of several events.
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return events[a] < events[b]; });
  ShowerBlock block;
  for (const size_t i : order) {
    const size_t slot = slots[i];
    float* const image = out.image.data() + static_cast<int64_t>(slot) * shape().cells();
    const EventPlace& place = place_of(events[i]);
    const auto file = open_files_->get(place.file);
    if (const auto* samples = dynamic_cast<const SampleFile*>(file.get())) {
      samples->read_sample(place.record, {image, &out.energy[slot], &out.angle[slot], &out.ecal[slot]});
      continue;
    }
    file->read(place.record, 1, block);
    convert_units(preprocessing_, block, Units::kSamples);
    std::copy(block.image.begin(), block.image.end(), image);
    out.energy[slot] = block.energy[0];
    out.angle[slot] = block.angle[0];
    out.ecal[slot] = block.ecal[0];
    std::copy_n(block.numbers.begin(), numbers_, out.numbers.begin() + static_cast<int64_t>(slot * numbers_));
  }
}

}  // namespace linac::data
