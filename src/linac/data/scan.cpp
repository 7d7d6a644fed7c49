#include "linac/data/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/error.h"
#include "linac/base/piece_of_work.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockBytes = int64_t{16} << 20;
constexpr double kEcalTolerance = 0.01;

void widen(double& low, double& high, double value, bool first) {
  low = first ? value : std::min(low, value);
  high = first ? value : std::max(high, value);
}

/// The event's scaled sum; for samples also a test that ecal and cells belong together.
double checked_sum(const ShowerBlock& block, int64_t event, const Preprocessing& preprocessing, const std::string& url,
                   int64_t first_event) {
  const int64_t cells = block.shape.cells();
  const float* image = block.image.data() + event * cells;
  if (block.units == Units::kRaw) return scaled_sum(preprocessing, image, cells);
  const double ecal = block.ecal[static_cast<size_t>(event)];
  const double sum = sum_before_power(preprocessing, image, cells);
  const bool fits = std::abs(sum - ecal) <= kEcalTolerance * std::max(sum, std::abs(ecal));
  if (!fits) {
    throw data_error(
        fmt::format("[data] {}: record {}: ecal is {:.4g} but its cells sum to {:.4g}; the file was "
                    "probably made with another power than {} (set it to the file's) or with other units",
                    url, first_event + event, ecal, sum, preprocessing.power));
  }
  return ecal;
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
  report.bytes = result.state.size;

  const int64_t event_bytes = report.shape.cells() * static_cast<int64_t>(sizeof(float));
  const int64_t block_events = std::clamp<int64_t>(kBlockBytes / event_bytes, 1, 4096);
  const double unit_gev = file->units() == Units::kRaw ? 1 : preprocessing.energy_unit_gev;
  ShowerBlock block;
  for (int64_t first = 0; first < report.events; first += block_events) {
    file->read(first, std::min(block_events, report.events - first), block);
    check_values(block, url, first);
    piece_is_done();
    for (int64_t event = 0; event < block.events(); ++event) {
      const double sum = checked_sum(block, event, preprocessing, url, first);
      result.sum_max = std::max(result.sum_max, sum);
      if (!(sum > preprocessing.min_sum)) continue;
      const auto i = static_cast<size_t>(event);
      if (block.energy[i] == 0 && sum > 0) {
        throw data_error(
            fmt::format("[data] {}: event {}: its primary energy is 0 but its cells are not; remove the "
                        "event or write the file again",
                        url, first + event));
      }
      widen(report.energy_gev_min, report.energy_gev_max, block.energy[i] * unit_gev, result.kept.empty());
      widen(report.angle_min, report.angle_max, block.angle[i], result.kept.empty());
      result.kept.push_back(first + event);
    }
  }
  report.kept = static_cast<int64_t>(result.kept.size());
  report.fingerprint = storage::fingerprint(path).content;
  result.index = file->index();
  return result;
}

}  // namespace linac::data
