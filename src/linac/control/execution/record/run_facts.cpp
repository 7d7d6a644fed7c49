#include "linac/control/execution/record/run_facts.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/run_record.h"

namespace linac::execution {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 16;
constexpr size_t kValueBytesMax = 6000;

void add_leaves(const YAML::Node& node, const std::string& key, int depth, catalog::Tags& leaves) {
  if (leaves.size() >= kParametersMax || depth > kDepthMax) return;
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const auto name = entry.first.as<std::string>("");
      add_leaves(entry.second, key.empty() ? name : key + "." + name, depth + 1, leaves);
    }
    return;
  }
  if (key.empty() || key.size() > 250 || !valid_text(key)) return;
  std::string value;
  if (node.IsScalar()) {
    value = node.Scalar();
  } else if (node.IsSequence()) {
    YAML::Emitter emitter;
    emitter << YAML::Flow << node;
    value = emitter.c_str();
  }
  leaves[key] = cleaned(value, kValueBytesMax);
}

std::string file_name(const std::string& url) {
  return url.substr(url.rfind('/') + 1);
}

void add_files(const std::vector<job::DataFile>& files, const std::string& role,
               std::vector<catalog::DataSet>& inputs) {
  constexpr size_t kFilesMax = 1000;
  for (const job::DataFile& file : files) {
    if (inputs.size() >= kFilesMax) return;
    catalog::DataSet set;
    set.source = cleaned(file.url, kValueBytesMax);
    set.name = file_name(set.source);
    set.digest = cleaned(file.fingerprint, kValueBytesMax);
    if (set.name.empty() || set.digest.empty()) continue;
    const size_t scheme_end = set.source.find("://");
    set.source_type = scheme_end == std::string::npos ? "local" : set.source.substr(0, scheme_end);
    json profile = json::object();
    if (file.bytes >= 0) profile["bytes"] = file.bytes;
    if (file.events >= 0) profile["events"] = file.events;
    if (file.kept) profile["kept"] = *file.kept;
    set.profile = profile.dump();
    set.tags = {{"mlflow.data.site", role}};
    inputs.push_back(std::move(set));
  }
}

std::optional<job::RunSummary> summary_of(const std::string& run_json) {
  if (run_json.size() > kFactFileBytesMax) return std::nullopt;
  try {
    return job::read_summary(run_json, job::kSummaryFile);
  } catch (const Error&) {
    return std::nullopt;  // of a newer linac: who reads its lines says so
  }
}

bool is_error_line(std::string_view line) {
  // "14:07:55 E message"
  return line.size() > 11 && line[2] == ':' && line[5] == ':' && line.substr(8, 3) == " E " &&
         std::isdigit(static_cast<unsigned char>(line[0])) != 0;
}

}  // namespace

catalog::Tags parameters_of(const std::string& job_yaml) {
  catalog::Tags leaves;
  if (job_yaml.size() > kJobFileBytesMax) return leaves;
  try {
    const YAML::Node root = config::parse_text(job_yaml, "job.yaml");
    if (root.IsMap()) add_leaves(root, "", 0, leaves);
  } catch (const YAML::Exception&) {
    return {};
  } catch (const Error&) {
    return {};
  }
  return leaves;
}

RunFacts facts_of(const std::string& run_json) {
  RunFacts facts;
  const auto run = summary_of(run_json);
  if (!run) return facts;
  const auto tag = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.tags[std::string("linac.") + name] = cleaned(value, kValueBytesMax);
  };
  const auto number = [&](const char* name, int64_t value) {
    if (value >= 0) tag(name, std::to_string(value));
  };
  tag("version", run->linac);
  tag("build_type", run->build_type);
  tag("libtorch", run->libtorch);
  tag("isa", run->isa);
  number("workers", run->workers);
  number("rollbacks", run->rollbacks);
  if (run->host) tag("host", run->host->name);
  if (run->best) {
    tag("best.epoch", std::to_string(run->best->epoch));
    tag("best.by", run->best->by);
  }
  for (const auto& [role, files] : run->data) add_files(files, role, facts.inputs);
  facts.name = cleaned(run->name, kValueBytesMax);
  facts.started = cleaned(run->started, kValueBytesMax);
  facts.status = cleaned(run->status, kValueBytesMax);
  if (run->error) facts.error = cleaned(run->error->message, kReasonBytesMax);
  return facts;
}

ReadFacts read_facts(const std::string& job_yaml, const std::string& run_json) {
  return {parameters_of(job_yaml), facts_of(run_json)};
}

std::string cleaned(std::string_view text, size_t bytes_max) {
  std::string result(text.substr(0, bytes_max));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  // A cut may have parted a character.
  const bool cut = result.size() < text.size();
  for (int i = 0; cut && i < 3 && !valid_text(result) && !result.empty(); ++i) result.pop_back();
  if (!valid_text(result))
    for (char& c : result)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return result;
}

std::string reason_in_log(std::string_view log) {
  std::string_view error, last;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    // A progress bar writes over its own line.
    line = line.substr(line.rfind('\r') == std::string_view::npos ? 0 : line.rfind('\r') + 1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    last = line;
    if (is_error_line(line)) error = line.substr(11);
  }
  return cleaned(error.empty() ? last : error, kReasonBytesMax);
}

}  // namespace linac::execution
