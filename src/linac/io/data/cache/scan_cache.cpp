#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/data/cache/scan.h"
#include "linac/io/storage/file_lock.h"

namespace linac::data {
namespace {

using nlohmann::json;

// Raise when the meaning of an entry, or what a scan checks, changes.
constexpr int kVersion = 1;
// Smaller files are checked in less than a second.
constexpr int64_t kBytesWorthSaying = 4'000'000;

json describe_scan(const std::filesystem::path& path, const storage::Fingerprint& state, const Fields& fields,
                   const Preprocessing& preprocessing) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
  std::vector<std::string> named{fields.image, fields.energy, fields.angle};
  named.insert(named.end(), fields.numbers.begin(), fields.numbers.end());
  return {{"version", kVersion},
          {"path", (error ? path : canonical).string()},
          {"state", state.state()},
          {"fields", named},
          {"preprocessing",
           {preprocessing.scale, preprocessing.threshold, preprocessing.min_sum, preprocessing.power,
            preprocessing.energy_unit_gev}}};
}

json to_json(const ScannedFile& scanned) {
  const FileReport& report = scanned.report;
  return {{"format", report.format},
          {"events", report.events},
          {"shape", {report.shape.x, report.shape.y, report.shape.z}},
          {"fingerprint", report.fingerprint},
          {"energy_gev", {report.energy_gev_min, report.energy_gev_max}},
          {"angle", {report.angle_min, report.angle_max}},
          {"sum_max", scanned.sum_max},
          {"kept", scanned.kept},
          {"record_offsets", scanned.index.record_offsets}};
}

ScannedFile from_json(const json& entry, const std::string& url, const storage::Fingerprint& state) {
  ScannedFile scanned;
  FileReport& report = scanned.report;
  report.url = url;
  report.format = entry.at("format");
  report.events = entry.at("events");
  report.shape = {entry.at("shape").at(0), entry.at("shape").at(1), entry.at("shape").at(2)};
  report.fingerprint = entry.at("fingerprint");
  report.energy_gev_min = entry.at("energy_gev").at(0);
  report.energy_gev_max = entry.at("energy_gev").at(1);
  report.angle_min = entry.at("angle").at(0);
  report.angle_max = entry.at("angle").at(1);
  report.bytes = state.size;
  scanned.state = state;
  scanned.sum_max = entry.at("sum_max");
  scanned.kept = entry.at("kept").get<std::vector<int64_t>>();
  scanned.index.record_offsets = entry.at("record_offsets").get<std::vector<uint64_t>>();
  report.kept = static_cast<int64_t>(scanned.kept.size());
  return scanned;
}

/// An entry is the hash of its text in the first line, then the text: {"scan": which, "result": what}. Nothing if it is
/// not there or not whole.
std::optional<json> sound_entry(const std::filesystem::path& path) {
  try {
    const std::string content = read_file(path);
    const size_t line = content.find('\n');
    if (line == std::string::npos) return std::nullopt;
    const std::string text = content.substr(line + 1);
    if (content.substr(0, line) != storage::content_hash(text)) return std::nullopt;
    return json::parse(text);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<ScannedFile> read_entry(const std::filesystem::path& path, const json& scan, const std::string& url,
                                      const storage::Fingerprint& state) {
  try {
    const auto entry = sound_entry(path);
    if (!entry || entry->at("scan") != scan) return std::nullopt;
    return from_json(entry->at("result"), url, state);
  } catch (const std::exception&) {
    return std::nullopt;  // of another version: the scan makes it anew
  }
}

void write_entry(const std::filesystem::path& path, const json& scan, const ScannedFile& scanned) {
  try {
    const std::string text = json{{"scan", scan}, {"result", to_json(scanned)}}.dump();
    write_file_atomically(path, storage::content_hash(text) + "\n" + text);
  } catch (const std::exception& error) {
    log::debug(fmt::format("[data] the scan of {} is not remembered: {}", scanned.report.url, error.what()));
  }
}

}  // namespace

ScannedFile scan_file_cached(const std::filesystem::path& path, const std::string& url, const Fields& fields,
                             const Preprocessing& preprocessing) {
  const storage::Fingerprint state = storage::quick_fingerprint(path);
  const json scan = describe_scan(path, state, fields, preprocessing);
  const std::filesystem::path folder = storage::cache_folder() / "index";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // One for all versions of a file: the last one stays.
  json any_version = scan;
  any_version.erase("state");
  const std::filesystem::path entry = folder / (storage::content_hash(any_version.dump()) + ".idx");

  if (auto known = read_entry(entry, scan, url, state)) return std::move(*known);
  const storage::FileLock lock(entry.string() + ".lock");
  if (auto known = read_entry(entry, scan, url, state)) return std::move(*known);
  if (state.size >= kBytesWorthSaying) {
    log::info(fmt::format("[data] checking {} ({:.0f} MB) once", url, static_cast<double>(state.size) / 1e6));
  }
  ScannedFile scanned = scan_file(path, url, fields, preprocessing);
  write_entry(entry, scan, scanned);
  return scanned;
}

bool is_sound_scan(const std::filesystem::path& entry) {
  return sound_entry(entry).has_value();
}

std::string original_of_scan(const std::filesystem::path& entry) {
  try {
    const auto found = sound_entry(entry);
    return found ? found->at("scan").at("path").get<std::string>() : "";
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace linac::data
