#include "linac/control/catalog/queue_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "linac/base/base/host.h"
#include "linac/control/catalog/host_marks.h"
#include "linac/control/catalog/may.h"
#include "linac/control/catalog/records.h"
#include "linac/control/catalog/users.h"

namespace linac::catalog {
namespace {

constexpr int64_t kFairMs = 24 * 3600 * int64_t{1000};
constexpr double kGpuCores = 8;  // what a GPU counts as

constexpr const char* kJob =
    "SELECT j.run, r.id, r.user_name, r.name, r.state, r.reason, j.job, j.priority, j.cores, j.memory_mb, j.gpus, "
    "j.seconds_max, "
    "j.cost_max, j.attempts_max, j.submitted_ms, j.attempts, j.attempts_before, j.seconds_used, j.cancel_wished, "
    "j.place, j.tags FROM "
    "jobs j JOIN "
    "runs r ON r.number = j.run";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

Job of_row(const Row& row) {
  Job found;
  found.number = row.integer(0);
  found.attempts_before = row.integer(16);
  QueuedJob& job = found.job;
  job.run = row.text(1);
  job.user = row.text(2);
  job.name = row.text(3);
  job.state = run_state(row.text(4));
  job.reason = row.text(5);
  job.job = row.text(6);
  job.wishes.priority = row.integer(7);
  job.wishes.resources = {row.integer(8), row.integer(9), row.integer(10)};
  job.wishes.seconds_max = row.integer(11);
  job.wishes.cost_max = row.number(12);
  job.wishes.attempts_max = row.integer(13);
  job.submitted_ms = row.integer(14);
  job.attempts = row.integer(15);
  job.seconds_used = row.number(17);
  job.cancel_wished = row.integer(18) != 0;
  job.wishes.place = row.text(19);
  job.wishes.tags = words_of(row.text(20));
  return found;
}

void read_dependencies(Database& database, std::vector<Job>& jobs) {
  std::map<int64_t, Job*> by_number;
  std::vector<int64_t> numbers;
  for (Job& job : jobs) {
    by_number[job.number] = &job;
    numbers.push_back(job.number);
  }
  for_numbers(
      database,
      "SELECT d.run, r.id FROM dependencies d JOIN runs r ON r.number = d.needs WHERE d.run IN ({numbers}) ORDER BY "
      "d.run, d.needs",
      numbers, [&](const Row& row) { by_number.at(row.integer(0))->job.wishes.depends_on.push_back(row.text(1)); });
}

/// Seconds times cores that each user has had of the last day.
std::map<std::string, double> shares(Database& database, int64_t now) {
  std::map<std::string, double> used;
  for (const Row& row : database.query(
           "SELECT r.user_name, a.started_ms, a.ended_ms, j.cores, j.gpus FROM attempts a JOIN jobs j ON j.run = a.run "
           "JOIN runs r ON r.number = a.run WHERE a.started_ms <> 0 AND (a.ended_ms = 0 OR a.ended_ms > $1)",
           now - kFairMs)) {
    const int64_t begin = std::max(row.integer(1), now - kFairMs), end = row.integer(2) > 0 ? row.integer(2) : now;
    const double cores = static_cast<double>(row.integer(3)) + kGpuCores * static_cast<double>(row.integer(4));
    used[row.text(0)] += static_cast<double>(std::max<int64_t>(0, end - begin)) / 1000 * cores;
  }
  return used;
}

/// Why pending jobs do not start, whatever is free.
class Holds {
 public:
  Holds(Database& database, const std::vector<Job>& jobs, const std::map<std::string, double>& used) : used_(used) {
    for (User& user : users(database)) users_[user.name] = std::move(user);
    for (const Job& job : jobs)
      if (job.job.state == RunState::kStarting || job.job.state == RunState::kRunning)
        cores_[job.job.user] += job.job.wishes.resources.cores;
    for (const Row& row : database.query(
             "SELECT DISTINCT d.run FROM dependencies d JOIN jobs j ON j.run = d.run JOIN runs r ON r.number = d.needs "
             "WHERE j.waiting <> 0 AND r.state <> $1",
             std::string(to_string(RunState::kSucceeded))))
      dependent_.insert(row.integer(0));
    for (const Row& row : database.query(
             "SELECT j.run FROM jobs j JOIN runs r ON r.number = j.run WHERE j.waiting <> 0 AND r.deleted <> 0"))
      deleted_.insert(row.integer(0));
    marks_ = host_marks(database);
    std::erase_if(marks_, [](const HostMark& mark) { return mark.host != host_name(); });
  }

  std::string of(const Job& job) const {
    if (deleted_.contains(job.number)) return "its run is deleted";
    if (dependent_.contains(job.number)) return "runs that it depends on have not succeeded yet";
    const auto user = users_.find(job.job.user);
    if (user == users_.end()) return of_host(job.job);
    if (std::string why = why_no_job(person(user->second), Action::kBegin); !why.empty()) return why;
    const auto& [jobs_max, cores_max, core_hours_max] = user->second.quota;
    const int64_t cores = value(cores_, job.job.user) + job.job.wishes.resources.cores;
    if (cores_max > 0 && cores > cores_max) return fmt::format("its user's quota of {} cores at a time", cores_max);
    if (core_hours_max > 0 && value(used_, job.job.user) >= 3600 * core_hours_max)
      return fmt::format("its user's quota of {} core hours a day", core_hours_max);
    return of_host(job.job);
  }

 private:
  std::string of_host(const QueuedJob& job) const {
    if (job.wishes.place != kOwnHost) return "";
    const auto mark = std::ranges::find_if(marks_, [&](const HostMark& one) { return one.binds(job.user); });
    return mark == marks_.end() ? ""
                                : fmt::format(
                                      "host {} computes wrongly (linac hosts list); submit it to another place, "
                                      "or have the host looked at and cleared (linac hosts clear {})",
                                      mark->host, mark->host);
  }

  template <class T>
  static T value(const std::map<std::string, T>& of, const std::string& user) {
    const auto found = of.find(user);
    return found == of.end() ? T() : found->second;
  }
  const std::map<std::string, double>& used_;
  std::map<std::string, User> users_;
  std::map<std::string, int64_t> cores_;
  std::set<int64_t> dependent_, deleted_;
  std::vector<HostMark> marks_;  // of the service's own host
};

}  // namespace

Job job_of(Database& database, const std::string& run) {
  const auto row = database.first(fmt::format("{} WHERE r.id = $1", kJob), run);
  if (!row)
    throw Refusal(RefusalKind::kNotFound,
                  fmt::format("[queue] no job '{}'; `linac list` shows them", run.substr(0, 64)));
  std::vector<Job> jobs{of_row(*row)};
  read_dependencies(database, jobs);
  return std::move(jobs.front());
}

std::vector<Job> queue_at(Database& database, int64_t now) {
  std::vector<Job> jobs;
  for (const Row& row : database.query(fmt::format("{} WHERE j.waiting <> 0", kJob))) jobs.push_back(of_row(row));
  std::erase_if(jobs, [](const Job& job) { return ended(job.job.state); });  // by somebody's update_run()
  read_dependencies(database, jobs);
  const auto used = shares(database, now);
  const auto share = [&](const Job& job) {
    const auto at = used.find(job.job.user);
    return at == used.end() ? 0 : at->second;
  };
  std::sort(jobs.begin(), jobs.end(), [&](const Job& a, const Job& b) {
    if (a.job.wishes.priority != b.job.wishes.priority) return a.job.wishes.priority > b.job.wishes.priority;
    if (share(a) != share(b)) return share(a) < share(b);
    return a.number < b.number;
  });
  const Holds holds(database, jobs, used);
  for (Job& job : jobs)
    if (waits(job.job.state)) job.job.held_by = holds.of(job);
  return jobs;
}

}  // namespace linac::catalog
