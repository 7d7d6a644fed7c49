#include "linac/control/sites/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/record.h"
#include "linac/io/relay/access.h"

namespace linac::sites {
namespace {

constexpr size_t kPartsMax = 64;
constexpr char kBetween = '+';  // no name of a site has it
constexpr const char* kGroupsChange = "environment.LINAC_GROUPS";

std::vector<std::string> pieces(const std::string& text, char between) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(between, at), text.size());
    all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

void need_number(const PartWish& wish, const std::string& on) {
  int workers = 0;
  const char* const end = wish.workers.data() + wish.workers.size();
  const auto [stop, status] = std::from_chars(wish.workers.data(), end, workers);
  if (status == std::errc{} && stop == end && workers >= 1 && workers <= kWorkersMax) return;
  throw user_error(fmt::format(
      "[launch] --on {}: {}:{}: expected a number of workers from 1 to {}; how many of all the run goes on with is "
      "distribution.workers_min of the job",
      printable(on), printable(wish.site), printable(wish.workers), kWorkersMax));
}

// "relay.example.org:4711", "[fd00::3]:4711"
std::pair<std::string, std::string> host_and_port(const std::string& relay) {
  const size_t colon = relay.rfind(':');
  std::string host = relay.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string port = colon == std::string::npos ? "" : relay.substr(colon + 1);
  int number = 0;
  const auto [stop, status] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || status != std::errc{} || stop != port.data() + port.size() || number < 1 || number > 65535)
    throw user_error(
        fmt::format("[launch] --relay {}: expected HOST:PORT, e.g. relay.example.org:4711", printable(relay)));
  return {host, port};
}

// That of a launch of this name whose client died before all of it was started.
std::string key_of_earlier(const std::vector<PartWish>& wishes, const std::string& label) {
  for (const PartWish& wish : wishes)
    for (const KeptLaunch& kept : kept_launches(wish.site))
      if (kept.record.label == label) return kept.launch.key;
  return new_key();
}

std::string pass_of_run(const std::string& user_key, const std::string& run_key) {
  const auto key = relay::seed_in(run_key);
  LINAC_CHECK(key);
  return relay::make_pass(relay::read_user_key(user_key), relay::Identity(relay::seed_of_run(*key)).room());
}

// A launch of that name whose other parts could not be started: what was started of it was cancelled.
void need_all_or_none(const Parts& parts) {
  std::string ended;
  size_t submitted = 0;
  for (const Part& part : parts.all) {
    for (const KeptLaunch& kept : kept_launches(part.site->name())) {
      if (kept.record.label != part.launch.label || !kept.submitted) continue;
      ++submitted;
      if (job::ended(part.site->standing(kept.record).state)) ended = part.site->name();
    }
  }
  if (submitted < parts.all.size() && !ended.empty())
    throw user_error(
        fmt::format("[launch] --name {}: its part at {} was started before, without the others, and has ended; choose "
                    "another name",
                    parts.all.front().launch.label, ended));
}

}  // namespace

std::vector<PartWish> part_wishes(const std::string& on) {
  std::vector<PartWish> all;
  const std::vector<std::string> texts = pieces(on, ',');
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    PartWish wish{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
    if (wish.site.empty() || (colon != std::string::npos && wish.workers.empty()) ||
        (texts.size() > 1 && wish.workers.empty()))
      throw user_error(fmt::format(
          "[launch] --on {}: expected a SITE, or several with their workers, e.g. farm:8,k8s:16", printable(on)));
    if (texts.size() > 1) need_number(wish, on);
    if (std::ranges::find(all, wish.site, &PartWish::site) != all.end())
      throw user_error(fmt::format("[launch] --on {}: {} comes twice; give it all of its workers at once",
                                   printable(on), wish.site));
    all.push_back(std::move(wish));
  }
  if (all.size() > kPartsMax)
    throw user_error(fmt::format("[launch] --on: {} sites; at most {}", all.size(), kPartsMax));
  return all;
}

Parts make_parts(const std::vector<PartWish>& wishes, const Wishes& each, const Meeting& meeting) {
  if (meeting.relay.empty())
    throw user_error(
        "[launch] --on: workers of several sites meet by a relay; give --relay HOST:PORT (`linac relay` is one)");
  for (const std::string& one : pieces(meeting.relay, ',')) host_and_port(one);
  const job::Job job = resolved_job(each.job, each.overrides);
  const std::string label = label_of(each.name, job.name);
  const std::string key = key_of_earlier(wishes, label);
  Parts parts;
  int workers = 0;
  std::string groups, sites;
  for (const PartWish& wish : wishes) {
    Part part{find_site(wish.site), {}, {}};
    if (part.site->common().kind == "panda")
      throw user_error(fmt::format(
          "[launch] --on: {} is one of several sites, and PanDA brings no key of a run to its workers; leave "
          "it out",
          wish.site));
    Wishes own = each;
    own.name = label;
    own.workers = wish.workers;
    part.launch = make_launch(*part.site, job, own);
    // Rank 0 writes at a store, and is at the first site. The others keep the record in a folder: whatever becomes of
    // the first one, what they bring to an end is somewhere.
    if (!parts.all.empty() && part.launch.out.find("://") != std::string::npos)
      part.launch.out = part.site->common().folder + "/" + label;
    part.launch.key = key;
    part.launch.part = true;
    workers += part.launch.workers;
    groups += fmt::format("{}{}:{}", groups.empty() ? "" : ",", wish.site, part.launch.workers);
    sites += (sites.empty() ? "" : std::string(1, kBetween)) + wish.site;
    parts.all.push_back(std::move(part));
  }
  if (workers > job.train.pieces())
    throw user_error(fmt::format("[launch] {} workers at all sites for {}: a worker carries at least one", workers,
                                 job::pieces_in_words(job.train)));
  const std::string pass = meeting.pass_key.empty() ? "" : pass_of_run(meeting.pass_key, key);
  for (Part& part : parts.all) {
    part.changes = {{"environment.LINAC_GROUP", part.site->name()},
                    {kGroupsChange, groups},
                    {"environment.LINAC_RELAY", meeting.relay}};
    if (!pass.empty()) part.changes["environment.LINAC_RELAY_PASS"] = pass;
    if (meeting.wait_s > 0) part.changes["environment.LINAC_MEET_TIMEOUT"] = std::to_string(meeting.wait_s);
    // What was lost there would wait in vain for the others, who go on.
    const std::string& kind = part.site->common().kind;
    if (kind == "slurm") part.changes["requeue"] = "0";
    if (kind == "mpi") part.changes["restarts"] = "0";
    part.site = find_site(part.site->name(), part.changes);
  }
  parts.name = sites + ":" + label;
  return parts;
}

std::vector<Finding> look_at_relay(const Part& part, const std::string& relay) {
  const Record record{part.launch.label,
                      part.site->name(),
                      part.site->common().kind,
                      part.site->common().folder,
                      part.launch.out,
                      "",
                      chosen_hosts(*part.site, part.launch)};
  std::string script = "command -v bash >/dev/null && command -v timeout >/dev/null || exit 0\nreached=\n";
  for (const std::string& one : pieces(relay, ',')) {
    const auto [host, port] = host_and_port(one);
    script += fmt::format(
        "[ -n \"$reached\" ] || ! timeout 5 bash -c ': <\"/dev/tcp/$0/$1\"' {} {} 2>/dev/null || reached=1\n",
        shell_word(host), shell_word(port));
  }
  script += "[ -n \"$reached\" ] || echo 'linac: unreached'\n";
  std::vector<Finding> all;
  for (const Shell& there : shells_of_run(*part.site, record)) {
    try {
      if (!there.need("the relay cannot be looked for", script).said("unreached").empty())
        all.push_back({false, "relay",
                       fmt::format("{}: not reached from {}; does `linac relay` run there, at an address and a port "
                                   "that this host may call?",
                                   relay, there.name())});
    } catch (const Error& error) {
      all.push_back({false, kReached, error.what()});
    }
  }
  return all;
}

std::vector<Started> start_parts(const Parts& parts) {
  need_all_or_none(parts);
  std::vector<Started> all;
  for (const Part& part : parts.all) {
    try {
      all.push_back(start(*part.site, part.launch, true, part.changes));
    } catch (const Error&) {
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].found) continue;
        try {
          parts.all[i].site->cancel(all[i].kept.record);
        } catch (const Error& left) {
          log::error(fmt::format("[launch] {}:{} goes on, and waits for the others; cancel it ({})",
                                 parts.all[i].site->name(), all[i].kept.record.label, left.what()));
        }
      }
      throw;
    }
  }
  return all;
}

std::vector<LaunchName> parts_of(const LaunchName& name) {
  std::vector<LaunchName> all;
  for (const std::string& site : pieces(name.site, kBetween)) all.push_back({site, name.label});
  return all;
}

std::optional<std::string> whole_of(const KeptLaunch& part) {
  const auto groups = part.record.changes.find(kGroupsChange);
  if (!part.launch.part || groups == part.record.changes.end()) return {};
  std::string sites;
  for (const std::string& group : pieces(groups->second, ','))
    sites += (sites.empty() ? "" : std::string(1, kBetween)) + group.substr(0, group.find(':'));
  return sites + ":" + part.record.label;
}

Standing standing_of_parts(const std::vector<PartStanding>& parts) {
  using job::RunState;
  const auto first = [&](const auto& is) { return std::ranges::find_if(parts, is); };
  auto found = first([](const PartStanding& one) { return one.answers && one.standing.state == RunState::kRunning; });
  if (found == parts.end())
    found = first([](const PartStanding& one) { return one.standing.state == RunState::kSucceeded; });
  if (found == parts.end())
    found = first([](const PartStanding& one) { return one.answers && !job::ended(one.standing.state); });
  if (found == parts.end()) found = first([](const PartStanding& one) { return !one.answers; });
  // Where nothing goes on: what somebody did, or the first that failed by itself, ended the others.
  for (const RunState why : {RunState::kCancelled, RunState::kFailed, RunState::kFailedPrechecks})
    if (found == parts.end()) found = first([&](const PartStanding& one) { return one.standing.state == why; });
  if (found == parts.end()) found = parts.begin();
  Standing whole = found->standing;
  if (whole.state != RunState::kRunning && whole.state != RunState::kSucceeded) {
    if (!whole.reason.empty()) whole.reason = found->site + ": " + whole.reason;
    return whole;
  }
  for (const PartStanding& one : parts) {
    const bool well = one.answers && (one.standing.state == RunState::kSucceeded || !job::ended(one.standing.state));
    if (!well)
      whole.reason += fmt::format(
          "{}without {}, which {}", whole.reason.empty() ? "" : "; ", one.site,
          one.answers ? std::string("is ") + job::to_string(one.standing.state) : std::string("does not answer"));
  }
  return whole;
}

}  // namespace linac::sites
