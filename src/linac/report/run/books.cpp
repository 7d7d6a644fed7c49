#include "linac/report/run/books.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "linac/base/atomic_file.h"
#include "linac/base/config.h"
#include "linac/base/error.h"

namespace linac::report {
namespace {

using Json = nlohmann::json;

RunView view_of(const Json& line) {
  RunView view{.time = line.at("time"),
               .seconds = std::max(0.0, line.at("seconds").get<double>()),
               .number = line.at("view"),
               .global_step = line.at("global_step"),
               .why = line.at("why"),
               .members = {}};
  for (const Json& member : line.at("members"))
    view.members.push_back({{member.at("host"), member.at("pid")}, member.at("replicas")});
  if (view.members.empty()) throw Json::other_error::create(500, "a view of nobody", &line);
  return view;
}

RunAccount account_of(const Json& worker, double time, int64_t global_step) {
  RunAccount account{.time = time,
                     .global_step = global_step,
                     .worker = {worker.at("host"), worker.at("pid")},
                     .cpu_s = worker.at("cpu_s"),
                     .exchange_s = worker.at("exchange_s"),
                     .sent_bytes = worker.at("sent_bytes"),
                     .sent_messages = worker.at("sent_messages"),
                     .pace_s = worker.value("pace_s", 0.0)};
  const Json& phases = worker.at("phases");
  for (size_t i = 0; i < kRunPhases.size(); ++i)
    if (const auto found = phases.find(kRunPhases[i]); found != phases.end()) account.wall[i] = found->at("wall_s");
  return account;
}

std::vector<RunAccount> accounts_of(const Json& line) {
  std::vector<RunAccount> accounts;
  for (const Json& worker : line.at("workers"))
    accounts.push_back(account_of(worker, line.at("time"), line.at("global_step")));
  return accounts;
}

// Puts the lines of metrics.jsonl together.
class Reader {
 public:
  explicit Reader(RunBooks& books) : books_(books) {}

  void line(const Json& line) {
    const std::string kind = line.at("kind");
    if (kind == "step") steps_.push_back(line.at("global_step"));
    if (kind == "epoch") epoch(line);
    if (kind == "rollback") ++books_.rollbacks;
    if (kind == "view") view(view_of(line));
    if (books_.starts.empty()) return;
    RunStart& start = books_.starts.back();
    if (kind == "workers") start.accounts.push_back(accounts_of(line));
    if (kind == "end") {
      std::vector<RunAccount> accounts = accounts_of(line);
      const double time = line.at("time");
      start.status = line.at("status");
      start.accounts.push_back(std::move(accounts));
      start.ended = time;
    }
    start.last_step = std::max(start.last_step, line.value("global_step", int64_t{0}));
  }

  void finish() {
    std::sort(steps_.begin(), steps_.end());
    books_.steps = static_cast<int64_t>(std::unique(steps_.begin(), steps_.end()) - steps_.begin());
    books_.steps_twice = static_cast<int64_t>(steps_.size()) - books_.steps;
    if (books_.steps > 0) books_.steps_missing = steps_[static_cast<size_t>(books_.steps) - 1] - books_.steps;
  }

 private:
  void epoch(const Json& line) {
    constexpr std::string_view kRate = "_per_s";
    ++books_.epochs;
    for (const auto& [key, value] : line.items())
      if (key.ends_with(kRate)) books_.unit = key.substr(0, key.size() - kRate.size());
  }

  // The views of a start are numbered upwards. One may follow an "end": of a writer that failed and was replaced.
  void view(RunView view) {
    const bool goes_on = !books_.starts.empty() && view.number > books_.starts.back().views.back().number &&
                         books_.starts.back().status != "succeeded";
    if (!goes_on) books_.starts.emplace_back();
    RunStart& start = books_.starts.back();
    start.ended.reset();
    start.status.clear();
    start.views.push_back(std::move(view));
  }

  RunBooks& books_;
  std::vector<int64_t> steps_;
};

void read_metrics(const std::filesystem::path& path, RunBooks& books) {
  std::ifstream file(path, std::ios::binary);
  Reader reader(books);
  std::string line;
  while (std::getline(file, line)) {
    try {
      reader.line(Json::parse(line));
    } catch (const Json::exception&) {
      if (file.eof()) {
        books.last_line_cut = true;
      } else {
        ++books.damaged_lines;
      }
    }
  }
  reader.finish();
}

// "2026-11-22T10:57:07Z"
std::optional<double> unix_time(const std::string& utc) {
  std::tm time{};
  if (strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr) return std::nullopt;
  return static_cast<double>(timegm(&time));
}

void read_run_json(const std::filesystem::path& path, RunBooks& books) {
  const Json run = std::filesystem::exists(path) ? Json::parse(read_file(path), nullptr, false) : Json();
  if (!run.is_object()) return;
  try {
    books.name = run.value("name", "");
    books.status = run.value("status", "");
    books.error = run.value(Json::json_pointer("/error/message"), "");
    for (const char* key : {"linac", "libtorch", "isa"})
      if (run.contains(key)) books.facts.emplace_back(key, run.at(key));
    // The books of a run whose last line is lost: its last account is here too.
    if (books.starts.empty() || books.starts.back().ended || books.status == "running") return;
    const auto updated = unix_time(run.value("updated", ""));
    RunStart& start = books.starts.back();
    if (!updated || *updated < start.views.back().time) return;
    std::vector<RunAccount> accounts;
    for (const Json& worker : run.value("time_by_worker", Json::array()))
      accounts.push_back(account_of(worker, *updated, run.value("global_step", int64_t{0})));
    start.ended = std::max(*updated, start.end());
    start.status = books.status;
    start.accounts.push_back(std::move(accounts));
  } catch (const Json::exception&) {
    ++books.damaged_lines;
  }
}

void read_job(const std::filesystem::path& path, RunBooks& books) {
  if (!std::filesystem::exists(path)) return;
  const YAML::Node train = config::parse_text(read_file(path), path.string())["train"];
  if (!train.IsMap()) return;
  books.events_per_step = train["batch"].as<int64_t>(0) * train["replicas"].as<int64_t>(0);
}

// A worker that trains alone has no group to know its name from.
void name_lone_worker(RunStart& start) {
  for (const auto& accounts : start.accounts) {
    for (const RunAccount& account : accounts) {
      RunMember& member = start.views.front().members.front();
      if (member.worker.first.empty()) member.worker = account.worker;
    }
  }
}

// The books say which step a change came after, the log says what happened.
void read_losses(const std::filesystem::path& path, RunBooks& books) {
  static const std::regex kLost(R"(lost rank \d+ \((.*), process (\d{1,18})\): (.*))");
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::smatch found;
  while (std::getline(file, line)) {
    if (line.find("lost rank ") == std::string::npos || line.size() > 1000) continue;
    if (std::regex_search(line, found, kLost)) books.losses.try_emplace({found[1], std::stoll(found[2])}, found[3]);
  }
}

}  // namespace

double RunStart::end() const {
  if (ended) return *ended;
  double last = views.back().time;
  for (const auto& moment : accounts)
    for (const RunAccount& account : moment) last = std::max(last, account.time);
  return last;
}

RunBooks read_run_books(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    throw user_error(fmt::format("[report] {}: no such folder; give the folder of a run, the --out of linac train",
                                 folder.string()));
  if (!std::filesystem::exists(folder / "metrics.jsonl"))
    throw user_error(
        fmt::format("[report] {}: no run has kept books here (no metrics.jsonl); give the folder of a "
                    "run that has begun its training",
                    folder.string()));
  RunBooks books;
  books.folder = folder;
  read_metrics(folder / "metrics.jsonl", books);
  read_run_json(folder / "run.json", books);
  for (RunStart& start : books.starts) name_lone_worker(start);
  read_job(folder / "job.yaml", books);
  read_losses(folder / "log.txt", books);
  if (books.name.empty()) books.name = std::filesystem::absolute(folder).filename().string();
  return books;
}

}  // namespace linac::report
