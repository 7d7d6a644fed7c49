#include "linac/control/client/ingest.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/job/run_record.h"
#include "linac/io/storage/storage.h"

namespace linac::client {
namespace {

using nlohmann::json;

constexpr size_t kChunkBytes = 2 << 20;
constexpr const char* kLines = job::kMetricsFile;

std::string text_or_none(const std::filesystem::path& file) {
  return std::filesystem::exists(file) ? read_file(file) : "";
}

std::string first_line(const std::filesystem::path& folder) {
  std::ifstream stream(folder / kLines, std::ios::binary);
  std::string line;
  if (!stream || !std::getline(stream, line) || stream.eof()) {
    throw user_error(fmt::format(
        "[ingest] {}: no run to bring in (no whole line in metrics.jsonl); give the folder of `linac train --out`",
        folder.string()));
  }
  return line;
}

int64_t changed_ms(const std::filesystem::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return 0;
  return about.st_mtim.tv_sec * 1000 + about.st_mtim.tv_nsec / 1'000'000;
}

// When the run began, by its first line; 0 if that does not say. User error if a newer linac wrote it.
int64_t start_ms(const std::string& line, const std::filesystem::path& folder) {
  const double time = job::time_of(job::LineReader((folder / kLines).string()).read(line).line);
  return time > 0 && time < 1e11 ? std::llround(1000 * time) : 0;
}

}  // namespace

std::string ingest_key(const std::filesystem::path& folder) {
  return storage::content_hash(first_line(folder));
}

bool has_lines(const std::filesystem::path& folder) {
  std::ifstream stream(folder / kLines, std::ios::binary);
  std::string line;
  return stream && std::getline(stream, line) && !stream.eof();
}

// In chunks; the service passes over what it has.
void FolderIngest::send_lines(Ingested& ingested) {
  const std::filesystem::path file = folder_ / kLines;
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0 || about.st_ino != file_ || about.st_size < offset_) offset_ = 0;
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(offset_);
  const int64_t until_ms = changed_ms(file);
  const std::string path = "/api/v1/runs/" + ingested.run + "/lines";
  std::string rest;
  int64_t offset = std::exchange(offset_, 0);  // if this fails, all of it again
  for (bool last = false; !last;) {
    std::string chunk(kChunkBytes, '\0');
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    chunk.resize(static_cast<size_t>(stream.gcount()));
    last = chunk.size() < kChunkBytes;
    rest += chunk;
    const size_t whole = rest.rfind('\n') + 1;  // 0 if there is none
    if (whole == 0) continue;
    Query query{{"offset", std::to_string(offset)}};
    if (last) query.emplace_back("until_ms", std::to_string(until_ms));
    const json answer = service_.post_bytes(path, query, std::string_view(rest).substr(0, whole));
    offset = answer.at("offset");
    ingested.points += answer.at("points").get<int64_t>();
    ingested.damaged += answer.at("damaged").get<int64_t>();
    rest.erase(0, whole);
    if (rest.size() > 3 * kChunkBytes) throw user_error(fmt::format("[ingest] {}: a line is too long", file.string()));
  }
  file_ = about.st_ino;
  offset_ = offset;
}

Ingested FolderIngest::poll() {
  const std::string line = first_line(folder_);
  const std::filesystem::path summary = folder_ / job::kSummaryFile;
  const auto run = job::read_summary(text_or_none(summary), summary.string());
  const std::string name = run ? run->name : "";
  json begin = {
      {"key", storage::content_hash(line)}, {"experiment", experiment_}, {"started_ms", start_ms(line, folder_)}};
  begin["name"] = name.empty() ? std::filesystem::absolute(folder_).lexically_normal().filename().string() : name;
  const json begun = service_.post("/api/v1/ingest", begin);
  Ingested ingested;
  ingested.run = begun.at("id");
  ingested.name = begun.at("name");
  ingested.fresh = begun.at("fresh");
  send_lines(ingested);
  const json facts = service_.post(
      "/api/v1/runs/" + ingested.run + "/facts",
      {{"job", text_or_none(folder_ / "job.yaml")}, {"run", text_or_none(summary)}, {"ended_ms", changed_ms(summary)}});
  ingested.state = facts.at("state");
  return ingested;
}

}  // namespace linac::client
