#include "linac/cli/compute/data_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/answer_within.h"
#include "linac/base/base/bytes.h"
#include "linac/base/base/plural.h"
#include "linac/io/storage/cache.h"

namespace linac::cli {
namespace {

std::string rate_in_words(double bytes_per_s) {
  return format_bytes(std::llround(bytes_per_s)) + "/s";
}

std::string gave_in_words(const storage::LinkRate& link) {
  return link.bytes > 0 ? rate_in_words(link.bytes_per_s()) : fmt::format("nothing in {:.0f} s", link.seconds);
}

// What says nothing of its columns, or does not answer now, counts as read whole.
double share_of(const train::LoopData& data, const storage::LinkRate& of_first) {
  if (of_first.is_remote && of_first.bytes == 0) return 1;
  return answer_within(storage::kProbePatience, 1.0, data.read_share());
}

// Which reads the number is for.
const char* epochs_in_words(const DataLinks& links) {
  if (links.in_each_epoch) return "in every epoch, as the set is larger than the cache";
  return links.as_it_goes ? "in the first epoch, later ones read the cache"
                          : "for the first epoch, before which all is fetched; later ones read the cache";
}

}  // namespace

void DataLinks::set_step(double seconds) {
  step_s = seconds;
  if (step_s > 0) needed_per_s = event_bytes * static_cast<double>(step_events) / step_s;
  for (Place& place : places)
    if (bytes > 0) place.needed_per_s = needed_per_s * place.bytes / bytes;
}

DataLinks measure_links(const job::Job& job, const train::LoopData& data) {
  DataLinks links{.step_events = job.train.batch * job.train.replicas,
                  .as_it_goes = job.data.shuffle_window > 0,
                  .shared = job.data.share,
                  .places = {}};
  const nlohmann::json files = data.data().at("train");
  std::vector<std::string> urls;
  for (const nlohmann::json& file : files) urls.push_back(file.at("url"));
  for (storage::LinkRate& link : storage::probe_links(urls)) links.places.push_back({.link = std::move(link)});
  if (links.places.empty()) return links;

  const double share = share_of(data, links.places.front().link);
  for (const nlohmann::json& file : files) {
    const std::string place = storage::place_of(file.at("url"));
    const double bytes = share * file.at("bytes").get<double>();
    std::ranges::find_if(links.places, [&](const auto& one) { return one.link.place == place; })->bytes += bytes;
    links.bytes += bytes;
  }
  links.event_bytes = links.bytes / static_cast<double>(std::max<int64_t>(1, data.train_events()));
  const bool comes_over_links = std::ranges::any_of(links.places, [](const auto& one) { return one.link.is_remote; });
  links.in_each_epoch =
      comes_over_links && links.as_it_goes && links.bytes > static_cast<double>(storage::cache_bytes_max());
  return links;
}

std::vector<std::string> describe(const DataLinks& links) {
  const std::string sum = fmt::format("{} of {} in a step of {:.2g} s", format_bytes(std::llround(links.event_bytes)),
                                      plural(links.step_events, "event"), links.step_s);
  std::vector<std::string> lines;
  for (const DataLinks::Place& place : links.places) {
    const storage::LinkRate& link = place.link;
    if (!link.is_remote) {
      lines.push_back(fmt::format("on this host: {}; a link to them would have to give {} ({})",
                                  format_bytes(std::llround(place.bytes)), rate_in_words(place.needed_per_s), sum));
      continue;
    }
    lines.push_back(fmt::format(
        "{}: {}, {}; wanted are {} for {} ({}) {}", link.place, format_bytes(std::llround(place.bytes)),
        link.is_measured() ? "it gave " + gave_in_words(link) : "not measured: " + link.why_not,
        rate_in_words(place.needed_per_s), links.shared ? "all hosts together" : "each host (data.share: false)", sum,
        epochs_in_words(links)));
  }
  return lines;
}

std::vector<std::string> warnings(const DataLinks& links) {
  std::vector<std::string> lines;
  for (const DataLinks::Place& place : links.places) {
    if (!place.is_too_slow()) continue;
    const double rate = place.link.bytes_per_s();
    const std::string costs =
        links.as_it_goes ? fmt::format("steps wait {}", epochs_in_words(links))
        : rate > 0       ? fmt::format("the first step waits {:.2g} s for the files, later epochs read the cache",
                                       place.bytes / rate)
                         : "the first step waits for the files";
    lines.push_back(fmt::format(
        "{} gave {} and the training wants {}: {}; copy the files near the computer (linac data copy) or read fewer "
        "columns; with more workers or GPUs it wants more",
        place.link.place, gave_in_words(place.link), rate_in_words(place.needed_per_s), costs));
  }
  return lines;
}

nlohmann::ordered_json to_json(const DataLinks& links) {
  auto places = nlohmann::ordered_json::array();
  for (const DataLinks::Place& place : links.places) {
    const storage::LinkRate& link = place.link;
    places.push_back({{"place", link.place},
                      {"remote", link.is_remote},
                      {"bytes", std::llround(place.bytes)},
                      {"needed_bytes_per_s", place.needed_per_s},
                      {"bytes_per_s", nullptr}});
    if (link.is_measured()) places.back()["bytes_per_s"] = link.bytes_per_s();
    if (!link.why_not.empty()) places.back()["not_measured"] = link.why_not;
  }
  return {{"bytes", std::llround(links.bytes)}, {"event_bytes", links.event_bytes},
          {"step_events", links.step_events},   {"needed_bytes_per_s", links.needed_per_s},
          {"while_training", links.as_it_goes}, {"in_each_epoch", links.in_each_epoch},
          {"shared_by_hosts", links.shared},    {"places", places}};
}

}  // namespace linac::cli
