#include "linac/cli/control/study_place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/secure_random.h"
#include "linac/cli/common/server_word.h"
#include "linac/control/client/service_client.h"
#include "linac/control/study/journal.h"
#include "linac/control/study/record.h"
#include "linac/control/tune/point_json.h"

namespace linac::cli {
namespace {

using nlohmann::json;

constexpr const char* kStudies = "/api/v1/studies";

class FolderStudy : public StudyPlace {
 public:
  explicit FolderStudy(const std::string& folder) : journal_(study::Journal::open(folder)) {}

  const study::Ledger& ledger() override { return journal_.ledger(); }
  json ask() override {
    const auto asked = journal_.ask();
    if (const auto waits = journal_.ledger().waits_for(); !asked && !waits.empty())
      throw user_error(
          fmt::format("[study] {}: the next interval begins when trials {} have ended; tell them (--state failed: as "
                      "the worst), and ask again",
                      journal_.folder().string(), fmt::join(waits, ", ")));
    if (!asked)
      throw user_error(
          journal_.history().spent() >= journal_.history().budget() && journal_.history().budget() > 0
              ? fmt::format("[study] {}: its cost is spent; give more: budget.cost of its study.yaml",
                            journal_.folder().string())
              : fmt::format(
                    "[study] {}: all {} of the budget were asked for; give more: budget.trials of its study.yaml",
                    journal_.folder().string(), plural(journal_.study().settings.budget.trials, "trial")));
    const tune::Trial& trial = *journal_.history().find(*asked);
    json answer{{"trial", trial.number}, {"point", tune::to_json(journal_.history().space(), trial.point)}};
    if (trial.parent != 0) answer["from"] = trial.parent;  // whose state it goes on from
    return answer;
  }
  json report(int64_t trial, int64_t step, double value) override {
    const tune::Verdict verdict = journal_.report(trial, step, value);
    return {{"stop", verdict.stop}, {"reason", verdict.reason}};
  }
  json tell(const StudyEnd& end) override {
    journal_.tell(end.trial, end.state, end.values, end.reason, end.cost);
    return study::trial_json(journal_.ledger(), *journal_.history().find(end.trial));
  }
  std::vector<int64_t> replay() override { return journal_.replay(); }
  std::string title() const override {
    const auto folder = std::filesystem::absolute(journal_.folder()).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  }

 private:
  study::Journal journal_;
};

/// As the service's API has numbers.
json number_words(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

/// Of the service's answer about a study.
std::string queue_words(const json& study) {
  const json& queue = study.at("queue");
  if (queue.is_null()) return "";
  const std::string place = queue.at("on"), reason = queue.at("reason");
  return fmt::format("the queue{}: {}{}", place.empty() ? "" : " at " + place, queue.at("state").get<std::string>(),
                     reason.empty() ? "" : ": " + reason);
}

class ServiceStudy : public StudyPlace {
 public:
  ServiceStudy(std::string name, LeaseOptions lease)
      : name_(std::move(name)), lease_(std::move(lease)), service_(client::find_login("")) {}

  const study::Ledger& ledger() override {
    if (ledger_) return *ledger_;
    for (int64_t after = 0;;) {
      const json page = service_.get(path("/journal"), {{"after", std::to_string(after)}});
      if (!ledger_) ledger_.emplace(study::parse_study(page.at("study"), name_, {}), "study " + name_);
      for (const json& line : page.at("lines")) ledger_->take(lines_.emplace_back(line.get<std::string>()));
      if (page.at("after").is_null()) return *ledger_;
      after = page.at("after");
    }
  }
  json ask() override {
    const json answer = post("/ask", {{"lease", lease_.word.empty() ? random_hex(32) : lease_.word}});
    if (!answer.at("trial").is_null()) return answer;
    throw user_error(answer.at("done").get<bool>()
                         ? fmt::format("[study] {}: all trials of its budget were told; give more: linac study new, "
                                       "with a larger budget.trials",
                                       name_)
                         : fmt::format("[study] {}: others have the trials that are left; ask again in {} s", name_,
                                       answer.at("seconds").get<double>()));
  }
  json report(int64_t trial, int64_t step, double value) override {
    return post(fmt::format("/trials/{}/report", trial), held({{"step", step}, {"value", number_words(value)}}));
  }
  json tell(const StudyEnd& end) override {
    json values = json::array();
    for (const double value : end.values) values.push_back(number_words(value));
    json body{{"state", study::to_string(end.state)}, {"values", values}, {"reason", end.reason}};
    if (!std::isnan(end.cost)) body["cost"] = end.cost;
    return service_.post(path(fmt::format("/trials/{}/tell", end.trial)), held(body));
  }
  std::vector<int64_t> replay() override {
    const study::Study study = ledger().study();
    return study::Ledger::replay(study, lines_);
  }
  std::string title() const override { return name_; }
  std::string standing() override { return queue_words(service_.get(path(""))); }

 private:
  std::string path(const std::string& end) const {
    return fmt::format("{}/{}{}", kStudies, percent_encoded(name_), end);
  }
  json held(json body) const {
    if (!lease_.word.empty()) body["lease"] = lease_.word;
    return body;
  }
  json post(const std::string& end, json body) {
    body["seconds"] = lease_.seconds;
    return service_.post(path(end), body);
  }

  const std::string name_;
  const LeaseOptions lease_;
  client::ServiceClient service_;
  std::optional<study::Ledger> ledger_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string stop_study(const std::string& name, const std::string& reason) {
  client::ServiceClient service(client::find_login(""));
  json body = json::object();
  if (!reason.empty()) body["reason"] = reason;
  const json stopped = service.post(fmt::format("{}/{}/stop", kStudies, percent_encoded(name)), body);
  return fmt::format("{}: {}", name, queue_words(stopped));
}

bool at_service() {
  return !taken_server().empty();
}

std::unique_ptr<StudyPlace> open_study(const std::string& name, const LeaseOptions& lease) {
  if (at_service()) return std::make_unique<ServiceStudy>(name, lease);
  return std::make_unique<FolderStudy>(name);
}

void make_study(const std::string& name, const std::string& file, const std::string& experiment) {
  int64_t trials = 0, parameters = 0;
  if (at_service()) {
    client::ServiceClient service(client::find_login(""));
    const json made = service.post(kStudies, {{"name", name}, {"study", read_file(file)}, {"experiment", experiment}});
    trials = made.at("trials");
    parameters = static_cast<int64_t>(study::parse_study(made.at("study"), name, {}).settings.search.size());
  } else {
    const auto journal = study::Journal::open_or_make(name, study::read_study(file));
    trials = static_cast<int64_t>(journal.history().trials().size());
    parameters = static_cast<int64_t>(journal.history().space().size());
  }
  fmt::print("{}: {} of a space of {}\n", name, plural(trials, "trial"), plural(parameters, "parameter"));
}

void delete_study(const std::string& name, bool force) {
  if (!at_service())
    throw user_error(
        fmt::format("[study] {}: without --server a study is a folder, with the runs of its trials; remove "
                    "that, or name the service",
                    name));
  client::ServiceClient service(client::find_login(""));
  service.remove(fmt::format("{}/{}", kStudies, percent_encoded(name)), {{"force", force ? "true" : "false"}});
  fmt::print("{}: deleted\n", name);
}

}  // namespace linac::cli
