#include "linac/io/data/cache/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockBytes = int64_t{16} << 20;
constexpr int64_t kBlockEventsMax = 4096;
constexpr double kEcalTolerance = 0.01;

void widen(double& low, double& high, double value, bool first) {
  low = first ? value : std::min(low, value);
  high = first ? value : std::max(high, value);
}

/// The event's scaled sum; for samples also a test that ecal and cells belong together. `image`: its cells, of which
/// those may be left out that are zero.
double checked_sum(const ShowerBlock& block, size_t event, std::span<const float> image,
                   const Preprocessing& preprocessing, const std::string& url, int64_t number) {
  const auto cells = static_cast<int64_t>(image.size());
  if (block.units == Units::kRaw) return scaled_sum(preprocessing, image.data(), cells);
  const double ecal = block.ecal[event];
  const double sum = sum_before_power(preprocessing, image.data(), cells);
  const bool fits = std::abs(sum - ecal) <= kEcalTolerance * std::max(sum, std::abs(ecal));
  if (!fits) {
    throw data_error(
        fmt::format("[data] {}: record {}: ecal is {:.4g} but its cells sum to {:.4g}; the file was "
                    "probably made with another power than {} (set it to the file's) or with other units",
                    url, number, ecal, sum, preprocessing.power));
  }
  return ecal;
}

/// Hands all events to `take`(block, event in it, its cells, its number) in blocks of bounded memory, with values that
/// check_values() has seen.
template <class Take>
void each_event(const ShowerFile& file, const std::string& url, const Take& take) {
  const int64_t cells = file.shape().cells();
  const int64_t block_events =
      std::clamp<int64_t>(kBlockBytes / (cells * static_cast<int64_t>(sizeof(float))), 1, kBlockEventsMax);
  ShowerBlock block;
  for (int64_t first = 0; first < file.events(); first += block_events) {
    const int64_t end = std::min(first + block_events, file.events());
    int64_t filled = first;
    while (filled < end && file.read_filled(filled, block) && are_energies(block.image)) {
      check_numbers(block, 0, url, filled);
      take(block, 0, std::span<const float>(block.image), filled++);
    }
    if (filled < end) {
      file.read(filled, end - filled, block);
      check_values(block, url, filled);
      for (int64_t event = 0; event < block.events(); ++event)
        take(
            block, static_cast<size_t>(event),
            std::span<const float>(block.image).subspan(static_cast<size_t>(event * cells), static_cast<size_t>(cells)),
            filled + event);
    }
    piece_is_done();
  }
}

}  // namespace

ScannedFile scan_file(const std::filesystem::path& path, const std::string& url, const Fields& fields,
                      const Preprocessing& preprocessing) {
  ScannedFile result;
  result.state = storage::quick_fingerprint(path);
  const auto file = open_shower_file(path, url, fields, std::nullopt);
  FileReport& report = result.report;
  report.url = url;
  report.format = file->format();
  report.events = file->events();
  report.shape = file->shape();
  const auto original = file->original();
  report.bytes = original ? original->bytes : result.state.size;

  const double unit_gev = file->units() == Units::kRaw ? 1 : preprocessing.energy_unit_gev;
  each_event(*file, url, [&](const ShowerBlock& block, size_t i, std::span<const float> image, int64_t number) {
    const double sum = checked_sum(block, i, image, preprocessing, url, number);
    result.sum_max = std::max(result.sum_max, sum);
    if (!(sum > preprocessing.min_sum)) return;
    if (block.energy[i] == 0 && sum > 0) {
      throw data_error(
          fmt::format("[data] {}: event {}: its primary energy is 0 but its cells are not; remove the "
                      "event or write the file again",
                      url, number));
    }
    widen(report.energy_gev_min, report.energy_gev_max, block.energy[i] * unit_gev, result.kept.empty());
    widen(report.angle_min, report.angle_max, block.angle[i], result.kept.empty());
    result.kept.push_back(number);
  });
  report.kept = static_cast<int64_t>(result.kept.size());
  report.fingerprint = original ? original->content : storage::fingerprint(path).content;
  result.index = file->index();
  return result;
}

}  // namespace linac::data
