#include "linac/control/execution/record/run_recorder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/job/run_record.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/execution/record/run_facts.h"

namespace linac::execution {
namespace {

// The file belongs to the job's account: it may be gone, a link, or no file at all.
Descriptor opened(const std::filesystem::path& folder, const char* name) {
  try {
    return open_below(folder, name);
  } catch (const Error&) {
    return Descriptor();
  }
}

std::string read_at(const Descriptor& file, int64_t offset, size_t bytes_max) {
  std::string bytes(bytes_max, '\0');
  size_t size = 0;
  while (size < bytes_max) {
    const ssize_t got = ::pread(file.get(), bytes.data() + size, bytes_max - size, offset + static_cast<int64_t>(size));
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

void redact(ReadLines& read, const Redactor& redactor) {
  if (redactor.empty()) return;
  for (auto& [key, point] : read.points) key = redactor.redacted(key);
  for (job::AuditLine& line : read.audits) line.what = redactor.redacted(line.what);
}

void redact(catalog::Tags& tags, const Redactor& redactor) {
  catalog::Tags redacted;
  for (const auto& [key, value] : tags) redacted[redactor.redacted(key)] = redactor.redacted(value);
  tags = std::move(redacted);
}

void redact(ReadFacts& read, const Redactor& redactor) {
  if (redactor.empty()) return;
  redact(read.parameters, redactor);
  redact(read.run.tags, redactor);
  for (catalog::DataSet& input : read.run.inputs) {
    for (std::string* text :
         {&input.name, &input.digest, &input.source_type, &input.source, &input.schema, &input.profile})
      *text = redactor.redacted(*text);
    redact(input.tags, redactor);
  }
  for (std::string* text : {&read.run.name, &read.run.started, &read.run.status, &read.run.error})
    *text = redactor.redacted(*text);
}

}  // namespace

RunCursor cursor_of(catalog::Database& database, const std::string& run) {
  return RunCursor::decoded(catalog::folder_place(database, run));
}

void add_lines(catalog::Database& database, const std::string& run, const ReadLines& read) {
  if (!(cursor_of(database, run) == read.before)) {
    throw Refusal(RefusalKind::kState,
                  "[ingest] somebody else brings this run into the catalog at the same time; try again");
  }
  if (!read.points.empty()) catalog::append_points(database, run, read.points);
  if (!read.after.lost.empty() && read.after.lost != read.before.lost)
    catalog::set_run_tags(database, run, {{kLostStepsTag, lost_steps_text(read.after.lost)}});
  else if (read.after.lost.empty() && !read.before.lost.empty() &&
           catalog::run(database, run).tags.contains(kLostStepsTag))  // or somebody has removed it
    catalog::delete_run_tag(database, run, kLostStepsTag);
  catalog::set_folder_place(database, run, read.after.encoded());
}

void add_facts(catalog::Database& database, const std::string& run, const ReadFacts& read) {
  const catalog::Run known = catalog::run(database, run);
  catalog::Tags parameters = read.parameters;
  std::erase_if(parameters, [&](const auto& parameter) { return known.parameters.contains(parameter.first); });
  if (!parameters.empty()) catalog::set_parameters(database, run, parameters);
  if (!read.run.tags.empty()) catalog::set_run_tags(database, run, read.run.tags);
  if (!read.run.inputs.empty()) catalog::add_inputs(database, run, read.run.inputs);
}

bool RunFollower::read_lines(const Redactor& redactor) {
  const Descriptor file = opened(folder_, job::kMetricsFile);
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return false;
  RunCursor cursor;
  host_.catalog.read([&](catalog::Database& database) { cursor = cursor_of(database, run_); });
  // A run that resumes puts another file in its place; after a restart of the service it is not known whether it did.
  const bool same = about.st_ino == inode_ && about.st_size >= cursor.offset;
  const int64_t offset = same ? cursor.offset : 0;
  if (same && about.st_size == offset) return false;
  const std::string bytes = read_at(file, offset, kChunkBytesMax);
  const std::string_view lines = whole_lines(bytes);
  if (lines.empty()) return false;
  const bool last = bytes.size() < kChunkBytesMax;
  ReadLines read = read_some_lines(cursor, offset, lines, last ? now_ms() : 0, kPieceMax);
  redact(read, redactor);
  // With turns of its own: a job that tells a great many points keeps neither users waiting nor the service itself.
  host_.catalog.write(
      [&](catalog::Database& database) {
        add_lines(database, run_, read);
        if (audited_)
          for (const job::AuditLine& line : read.audits) audited_(database, line);
      },
      "run " + run_);
  inode_ = about.st_ino;
  if (!read.points.empty()) {
    host_.news.publish_points(run_, read.points);
    host_.points_total += static_cast<int64_t>(read.points.size());
  }
  return !last || read.after.offset < offset + static_cast<int64_t>(lines.size());
}

void RunFollower::read_facts(const Redactor& redactor) {
  facts_read_ = std::chrono::steady_clock::now();
  const auto text = [&](const char* name) {
    const Descriptor file = opened(folder_, name);
    return file ? read_at(file, 0, kFactFileBytesMax) : std::string();
  };
  std::string job = text("job.yaml"), run_json = text(job::kSummaryFile);
  if (job == job_ && run_json == run_json_) return;
  // As text too: what is cut at a bound when it is read would not be found behind it.
  ReadFacts read = execution::read_facts(redactor.redacted(job), redactor.redacted(run_json));
  redact(read, redactor);
  host_.catalog.write([&](catalog::Database& database) { add_facts(database, run_, read); });
  job_ = std::move(job);
  run_json_ = std::move(run_json);
}

bool RunFollower::poll(const Redactor& redactor) {
  if (std::chrono::steady_clock::now() - facts_read_ > kFactsEvery) read_facts(redactor);
  return read_lines(redactor);
}

void RunFollower::finish(const Redactor& redactor) {
  while (read_lines(redactor)) {
  }
  read_facts(redactor);
}

}  // namespace linac::execution
