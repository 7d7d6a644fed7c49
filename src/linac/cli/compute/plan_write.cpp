#include "linac/cli/compute/plan_write.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/job/job.h"

namespace linac::cli {
namespace {

std::string list_of(const plan::Estimate& value, double unit = 1) {
  const plan::Interval interval = value.interval();
  return fmt::format("[{:.4g}, {:.4g}, {:.4g}]", interval.low / unit, interval.middle / unit, interval.high / unit);
}

}  // namespace

std::string with_top_key(const std::string& text, const std::string& key, const std::string& value) {
  std::istringstream lines(text);
  std::string result;
  bool within = false, done = false;
  for (std::string line; std::getline(lines, line);) {
    if (within && !line.empty() && (line.front() == ' ' || line.front() == '\t')) continue;  // the value goes on
    within = line.starts_with(key + ":");
    if (within && !done) result += key + ": " + value + "\n";
    done = done || within;
    if (!within) result += line + "\n";
  }
  return done ? result : result + key + ": " + value + "\n";
}

std::string with_train_key(const std::string& text, const std::string& key, const std::string& value) {
  const YAML::Node root = config::parse_text(text, "the job"), train = root["train"];
  if (!train.IsDefined() || !train.IsMap() || train.size() == 0)
    return with_top_key(text, "train", fmt::format("{{{}: {}}}", key, value));
  std::string result = text;
  const YAML::Node old = train[key];
  if (!old.IsDefined()) {
    const YAML::Mark first = train.begin()->first.Mark();
    const bool in_braces = train.Style() == YAML::EmitterStyle::Flow;
    const std::string behind = in_braces ? ", " : "\n" + std::string(static_cast<size_t>(first.column), ' ');
    return result.insert(static_cast<size_t>(first.pos), key + ": " + value + behind);
  }
  const auto at = static_cast<size_t>(old.Mark().pos);
  const size_t quotes = at < text.size() && (text[at] == '"' || text[at] == '\'') ? 2 : 0;
  return result.replace(at, old.Scalar().size() + quotes, value);
}

void write_plan(const std::string& file, const std::vector<std::string>& overrides, const plan::PlanRow& row,
                const std::vector<std::pair<std::string, std::string>>& settings, double budget,
                const std::string& was) {
  const plan::Forecast& found = row.forecast;
  std::string planned = fmt::format("\n  on: \"{}\"\n  start_s: {}\n  step_s: {}\n  hours: {}", row.name,
                                    list_of(found.start), list_of(found.step), list_of(found.seconds, 3600));
  if (found.jitter) planned += "\n  jitter: " + list_of(*found.jitter);
  if (found.money) planned += "\n  money: " + list_of(*found.money);
  if (found.kwh) planned += "\n  kwh: " + list_of(*found.kwh);
  if (found.co2_kg) planned += "\n  co2_kg: " + list_of(*found.co2_kg);
  if (found.memory_gib > 0)
    planned += fmt::format("\n  memory_gib: {:.4g}", found.memory_gib / found.candidate.workers_a_host);
  std::string text = with_top_key(read_file(file), "workers", std::to_string(found.candidate.workers()));
  text = with_top_key(text, "plan", planned);
  for (const auto& [key, value] : settings) text = with_train_key(text, key, value);
  if (budget > 0 && row.price && !config::parse_text(text, file)["budget"].IsDefined())
    text = with_top_key(
        text, "budget",
        fmt::format("{{money: {:.6g}, price: {:.6g}}}{}", budget, *row.price / found.candidate.workers_a_host,
                    was.empty() ? "" : "  # US dollars: " + was));
  const job::Job job = job::parse_job(text, file, overrides);
  const std::map<std::string, std::string> now{{"batch", std::to_string(job.train.batch)},
                                               {"precision", job.train.precision},
                                               {"replicas", std::to_string(job.train.replicas)}};
  for (const auto& [key, value] : settings)
    if (now.at(key) != value)
      throw user_error(fmt::format("[plan] {}: train.{} could not be written; set it to {} there", file, key, value));
  write_file_atomically(file, text);
}

}  // namespace linac::cli
