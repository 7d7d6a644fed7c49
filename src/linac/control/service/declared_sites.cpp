#include "linac/control/service/declared_sites.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/job.h"
#include "linac/control/catalog/queue.h"
#include "linac/control/sites/launching.h"
#include "linac/control/sites/memory.h"
#include "linac/control/sites/sites_file.h"

namespace linac::service {
namespace {

bool takes_jobs_of(const sites::Site& site, const Caller& caller) {
  if (caller.access == Access::kAdmin) return true;
  const std::vector<std::string>& users = site.common().users;
  return std::ranges::any_of(users, [&](const auto& user) { return user == "*" || user == caller.user; });
}

std::string words_of(const std::vector<sites::Finding>& findings, const sites::Site& site) {
  std::string words;
  for (const sites::Finding& finding : findings)
    if (!finding.good) words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", finding.what, finding.text);
  return words.empty() ? "" : fmt::format("[submit] it could not begin at {}: {}", site.name(), words);
}

}  // namespace

DeclaredSites::DeclaredSites(const std::filesystem::path& file, bool trust_jobs) {
  if (file.empty()) return;
  if (!std::filesystem::is_regular_file(file))
    throw user_error(fmt::format("[serve] --sites {}: is no file; `linac sites init KIND` prints what to put into one",
                                 file.string()));
  for (auto& site : sites::parse_sites(read_file(file), file.string())) {
    if (site->name() == catalog::kPilots)
      throw user_error(fmt::format("[serve] --sites {}: '{}' is the agents' place; choose another name", file.string(),
                                   catalog::kPilots));
    if (site->common().kind == "local" && !site->common().users.empty() && !trust_jobs)
      throw user_error(
          fmt::format("[serve] --sites {}: {}.users: their jobs would run as this service, without a sandbox; leave "
                      "users out, or trust everybody who submits with --trust-jobs",
                      file.string(), site->name()));
    sites_.push_back(std::move(site));
  }
  if (sites_.empty()) throw user_error(fmt::format("[serve] --sites {}: declares none", file.string()));
}

void DeclaredSites::check(const std::string& place, const Caller& caller) const {
  if (place == catalog::kOwnHost || place == catalog::kPilots) return;
  std::vector<std::string> there{catalog::kPilots};
  for (const auto& site : sites_) {
    if (!takes_jobs_of(*site, caller)) continue;
    if (site->name() == place) return;
    there.push_back(site->name());
  }
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[submit] '{}' is no place for jobs of yours here; there are {}, and the service's host "
                            "where nothing is said (an admin declares sites, and whose jobs they take)",
                            printable(place), fmt::join(there, ", ")));
}

std::shared_ptr<const sites::Site> DeclaredSites::find(const std::string& place) const {
  const auto site = std::ranges::find_if(sites_, [&](const auto& one) { return one->name() == place; });
  return site == sites_.end() ? nullptr : *site;
}

std::vector<std::shared_ptr<const sites::Site>> DeclaredSites::open_to(const Caller& caller) const {
  std::vector<std::shared_ptr<const sites::Site>> open;
  std::ranges::copy_if(sites_, std::back_inserter(open),
                       [&](const auto& site) { return takes_jobs_of(*site, caller); });
  return open;
}

nlohmann::json DeclaredSites::shown_to(const Caller& caller) const {
  nlohmann::json shown = nlohmann::json::array();
  for (const auto& site : open_to(caller)) shown.push_back({{"name", site->name()}, {"kind", site->common().kind}});
  return shown;
}

std::map<std::string, std::unique_ptr<launch::Launcher>> DeclaredSites::launchers(
    const launch::SiteLauncherSettings& settings) const {
  std::map<std::string, std::unique_ptr<launch::Launcher>> launchers;
  for (const auto& site : sites_) launchers[site->name()] = std::make_unique<launch::SiteLauncher>(site, settings);
  return launchers;
}

std::string why_too_much(const sites::Site& site, const std::string& text) {
  const job::Job job = job::parse_job(text, "the job", {});
  std::vector<sites::Finding> findings = sites::over_budget(job);
  std::ranges::move(sites::over_memory(site, job, sites::make_launch(site, job, {}).workers),
                    std::back_inserter(findings));
  return words_of(findings, site);
}

std::string why_not_there(const sites::Site& site, const std::string& text) {
  if (std::string why = why_too_much(site, text); !why.empty()) return why;
  const job::Job job = job::parse_job(text, "the job", {});
  const std::vector<sites::Finding> findings = site.check(&job);
  const auto asked = [](const sites::Finding& one) { return one.good || one.what != sites::kReached; };
  return std::ranges::all_of(findings, asked) ? words_of(findings, site) : "";  // the job waits for it
}

}  // namespace linac::service
