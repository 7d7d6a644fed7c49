#include "linac/cli/compute/plan_write.h"

#include <fmt/format.h>

#include <sstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
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

void write_plan(const std::string& file, const std::vector<std::string>& overrides, const plan::Place& place,
                const std::string& name, const plan::Forecast& found, double budget, const std::string& was) {
  std::string planned = fmt::format("\n  on: \"{}\"\n  start_s: {}\n  step_s: {}\n  hours: {}", name,
                                    list_of(found.start), list_of(found.step), list_of(found.seconds, 3600));
  if (found.money) planned += "\n  money: " + list_of(*found.money);
  if (found.kwh) planned += "\n  kwh: " + list_of(*found.kwh);
  if (found.co2_kg) planned += "\n  co2_kg: " + list_of(*found.co2_kg);
  std::string text = with_top_key(read_file(file), "workers", std::to_string(found.candidate.workers()));
  text = with_top_key(text, "plan", planned);
  const auto& price = found.candidate.market == plan::Market::kSpot ? place.spot_price : place.price;
  if (budget > 0 && price && !config::parse_text(text, file)["budget"].IsDefined())
    text =
        with_top_key(text, "budget",
                     fmt::format("{{money: {:.6g}, price: {:.6g}}}{}", budget, *price / found.candidate.workers_a_host,
                                 was.empty() ? "" : "  # US dollars: " + was));
  job::parse_job(text, file, overrides);
  write_file_atomically(file, text);
}

}  // namespace linac::cli
