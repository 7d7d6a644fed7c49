#include "linac/control/service/plan_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"

namespace linac::service {
namespace {

constexpr size_t kPatternBytesMax = 100;
constexpr int64_t kWorkersOfHostMax = 4096;

Refusal invalid(const std::string& what) {
  return {RefusalKind::kInvalid, "[plan] " + what};
}

double amount_of(const Request& request, const char* name) {
  const double amount = request.number(name);
  if (std::isfinite(amount) && amount >= 0) return amount;
  throw invalid(fmt::format("'{}' is no number from 0 on; leave it out, or 0, for none", name));
}

std::vector<std::string> words_of(const Request& request, const char* name) {
  std::vector<std::string> words = request.texts(name);
  if (words.size() > kPlanPatternsMax)
    throw invalid(fmt::format("'{}' has {} entries; {} are the most", name, words.size(), kPlanPatternsMax));
  for (const std::string& word : words)
    if (word.empty() || word.size() > kPatternBytesMax)
      throw invalid(fmt::format("'{}': an entry of it is empty or longer than {} bytes", name, kPatternBytesMax));
  return words;
}

int64_t count_of(const Request& request, const char* name, int64_t otherwise, int64_t most) {
  const int64_t count = request.integer(name, otherwise);
  if (count >= 1 && count <= most) return count;
  throw invalid(fmt::format("'{}' is {} (wanted: 1 to {})", name, count, most));
}

std::vector<int> workers_of(const Request& request) {
  std::vector<int> workers;
  for (const double one : request.numbers("workers")) {
    if (!(one >= 1 && one <= kWorkersOfHostMax && one == std::floor(one)))
      throw invalid(fmt::format("'workers': {} is no number of workers from 1 to {}", one, kWorkersOfHostMax));
    workers.push_back(static_cast<int>(one));
  }
  if (workers.size() > kPlanWorkersMax)
    throw invalid(fmt::format("'workers' has {} entries; {} are the most", workers.size(), kPlanWorkersMax));
  return workers;
}

plan::Order order_of(const Request& request) {
  const std::string word = request.text("by", "money");
  if (const auto order = plan::order_named(word)) return *order;
  throw invalid(fmt::format("'by' is '{}' (wanted: {})", printable(word), fmt::join(plan::order_names(), ", ")));
}

}  // namespace

const std::vector<FieldRule>& plan_fields() {
  static const std::vector<FieldRule> kFields = {
      {"run", FieldType::kText, false, "the job of this run is planned"},
      {"job", FieldType::kText, false, "or this one: the job file's text"},
      {"file", FieldType::kText, false, "where that text is from, for messages"},
      {"set", FieldType::kTexts, false, "overrides, e.g. train.epochs=5"},
      {"deadline_s", FieldType::kNumber, false, "what misses it more than once in five is not good; 0: none"},
      {"budget", FieldType::kNumber, false, "likewise money, in `currency`; 0: none"},
      {"currency", FieldType::kText, false, "EUR, by the price book's rate of exchange; USD"},
      {"by", FieldType::kText, false, "the order: money, time, energy or carbon"},
      {"spot", FieldType::kBoolean, false, "also hosts that may be taken away, where a price is known"},
      {"workers", FieldType::kNumbers, false, "of a host; 1"},
      {"machines", FieldType::kTexts, false, "patterns of the price book, e.g. gcp/*: what renting them would be"},
      {"hosts", FieldType::kInteger, false, "so many of those at most; 1"},
      {"regions", FieldType::kTexts, false, "of prices and carbon dioxide"},
      {"spot_life_h", FieldType::kNumber, false, "hours until a machine of the book that may be taken away is"},
      {"spot_gap_h", FieldType::kNumber, false, "hours until another one can be had; 0: at once"},
      {"goal", FieldType::kText, false, "until a measure of an epoch is so good, by earlier runs: test auc >= 0.98"},
      {"rows", FieldType::kInteger, false, "told at most, and those of the front; 200, at most 1000"}};
  return kFields;
}

PlanRequest plan_request_of(const Request& request) {
  PlanRequest wanted;
  wanted.run = request.text("run");
  wanted.job = request.text("job");
  if (wanted.run.empty() == wanted.job.empty()) throw invalid("either 'run' or 'job' says what is planned");
  if (wanted.job.size() > kPlanJobBytesMax)
    throw invalid(fmt::format("the job has {} bytes; {} are the most", wanted.job.size(), kPlanJobBytesMax));
  wanted.file = request.text("file", "the job");
  wanted.overrides = request.texts("set");
  wanted.deadline_s = amount_of(request, "deadline_s");
  wanted.budget = amount_of(request, "budget");
  wanted.currency = request.text("currency", "USD");
  wanted.goal_text = request.text("goal");
  if (!wanted.goal_text.empty()) wanted.goal = plan::parse_goal(wanted.goal_text);
  wanted.rows = static_cast<size_t>(count_of(request, "rows", kPlanRowsDefault, kPlanRowsMax));
  plan::Question& question = wanted.question;
  question.order = order_of(request);
  question.spot = request.flag("spot");
  question.workers = workers_of(request);
  question.candidates_max = kPlanCandidatesMax;
  question.book.machines = words_of(request, "machines");
  question.book.regions = words_of(request, "regions");
  question.book.hosts_max = static_cast<int>(count_of(request, "hosts", 1, kPlanHostsMax));
  question.book.spot_life_h = amount_of(request, "spot_life_h");
  question.book.spot_gap_h = amount_of(request, "spot_gap_h");
  return wanted;
}

}  // namespace linac::service
