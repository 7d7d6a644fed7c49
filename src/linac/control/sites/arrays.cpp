#include "linac/control/sites/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/label.h"

namespace linac::sites {
namespace {

// The overrides that each seed means; one without any if nobody says seeds.
std::vector<std::vector<std::string>> seed_overrides(const std::string& text) {
  if (text.empty()) return {{}};
  const auto refuse = [&] {
    return user_error(
        fmt::format("[launch] --seeds {}: expected FIRST:LAST, e.g. 1:20, at most {} of them", text, kArrayMax));
  };
  int64_t first = 0, last = 0;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, first);
  if (error != std::errc{} || colon == end || *colon != ':') throw refuse();
  const auto [stop, second] = std::from_chars(colon + 1, end, last);
  if (second != std::errc{} || stop != end || first < 0 || last < first || last - first >= kArrayMax) throw refuse();
  std::vector<std::vector<std::string>> all;
  for (int64_t seed = first; seed <= last; ++seed) all.push_back({fmt::format("train.seed={}", seed)});
  return all;
}

// Of all members, in their order; their names and keys are no part of it.
std::string digest_of(const Array& array, const std::string& name) {
  std::string text = fmt::format("array\n{}\n{}", array.at_once, name);
  for (const Launch& member : array.members) {
    const bool named_out = !member.out.ends_with("/" + member.label);
    text += fmt::format("\n{}{}:{}\n{}\n{}", member.job, member.workers_min, member.workers, member.seconds_max,
                        named_out ? member.out : "");
    for (const std::string& host : member.exclude) text += "\n-" + host;
  }
  return fmt::format("{:016x}", fnv1a_64(text));
}

std::string member_label(const std::string& array, size_t index) {
  return fmt::format("{}-{}", array, index);
}

}  // namespace

Array make_array(const Site& site, const ArrayWishes& wishes) {
  Array array;
  array.at_once = wishes.at_once;
  if (wishes.at_once < 0) throw user_error(fmt::format("[launch] --at-once {}: less than 0", wishes.at_once));
  const auto seeds = seed_overrides(wishes.seeds);
  if (wishes.jobs.size() * seeds.size() > kArrayMax)
    throw user_error(fmt::format("[launch] {} jobs: at most {} go into one array; launch them in parts",
                                 wishes.jobs.size() * seeds.size(), kArrayMax));
  for (const std::string& job : wishes.jobs) {
    for (const std::vector<std::string>& seed : seeds) {
      Wishes each = wishes.each;
      each.job = job;
      each.name.clear();
      each.overrides.insert(each.overrides.end(), seed.begin(), seed.end());
      Launch member = make_launch(site, each);
      if (array.name.empty()) array.name = wishes.each.name.empty() ? member.label : label_of(wishes.each.name, "");
      const size_t index = array.members.size() + 1;
      member.label = member_label(array.name, index);
      // Each has a folder of its own there.
      member.out = wishes.each.out.empty() ? default_out(site, member.label, false)
                                           : fmt::format("{}/{}", wishes.each.out, index);
      if (!array.members.empty() &&
          (member.workers != array.members.front().workers || member.workers_min != array.members.front().workers_min))
        throw user_error(
            fmt::format("[launch] {}: {} workers, and {} has {}; members of an array have the same number, "
                        "give --workers",
                        job, member.workers, wishes.jobs.front(), array.members.front().workers));
      array.members.push_back(std::move(member));
    }
  }
  label_of(member_label(array.name, array.members.size()), "");
  return array;
}

std::vector<Started> start_array(const Site& site, Array array, bool named) {
  const LaunchLock lock(site.name());
  const std::string digest = digest_of(array, named ? array.name : "");
  std::vector<KeptLaunch> before;  // members that an earlier client has kept
  std::string found;
  for (KeptLaunch& other : kept_launches(site.name())) {
    if (named) {
      const bool same = other.record.array == array.name;
      const bool taken = std::any_of(array.members.begin(), array.members.end(),
                                     [&](const Launch& member) { return member.label == other.record.label; });
      if ((same || taken) && (!same || other.digest != digest))
        throw user_error(
            fmt::format("[launch] --name {}: another launch has it, with other jobs or options; choose "
                        "another name",
                        array.name));
      if (same) found = array.name;
    } else if (found.empty() && !other.submitted && !other.record.array.empty() && other.digest == digest) {
      found = other.record.array;
    }
  }
  if (!found.empty())
    for (KeptLaunch& other : kept_launches(site.name()))
      if (other.record.array == found) before.push_back(std::move(other));
  if (!found.empty()) array.name = found;

  const int64_t now = now_ms();
  std::vector<Started> all;
  for (size_t i = 0; i < array.members.size(); ++i) {
    Launch& member = array.members[i];
    const std::string label = member_label(array.name, i + 1);
    if (member.out == default_out(site, member.label, false)) member.out = default_out(site, label, false);
    member.label = label;
    Started one{{{.label = label,
                  .site = site.name(),
                  .kind = site.common().kind,
                  .folder = site.common().folder,
                  .out = member.out,
                  .id = "",
                  .hosts = chosen_hosts(site, member),
                  .array = array.name,
                  .index = static_cast<int>(i + 1)},
                 member,
                 false,
                 digest,
                 now,
                 ""}};
    for (const KeptLaunch& kept : before) {
      if (kept.record.label != label) continue;
      one.found = true;
      one.kept = kept;
      if (!kept.launch.key.empty()) member.key = kept.launch.key;
      one.kept.launch = member;
    }
    all.push_back(std::move(one));
  }
  if (std::all_of(all.begin(), all.end(), [](const Started& one) { return one.kept.submitted; })) return all;
  const TakesArrays& arrays = arrays_of(site);
  arrays.plan_array(array);  // what is wrong with it is known before anything is kept
  for (const Started& one : all) keep(one.kept);
  const std::string id = arrays.submit_array(array);
  for (Started& one : all) {
    if (one.kept.submitted) continue;  // and perhaps resumed since
    one.kept.record.id = fmt::format("{}_{}", id, one.kept.record.index);
    one.kept.submitted = true;
    keep(one.kept);
  }
  return all;
}

}  // namespace linac::sites
