#include "linac/control/sites/site.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/plan/scaling.h"

namespace linac::sites {
namespace {

bool is_name(const std::string& text) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), letter);
}

}  // namespace

void need(bool holds, const std::string& place, const std::string& what) {
  if (!holds) throw user_error(place + "." + what);
}

namespace {

void check_worth(const Worth& worth, const std::string& place) {
  const std::pair<const char*, double> numbers[] = {
      {"price", worth.price},           {"spot_price", worth.spot_price},
      {"slower", worth.slower},         {"spot_life_h", worth.spot_life_h},
      {"watts", worth.watts},           {"co2_g_per_kwh", worth.co2_g_per_kwh},
      {"memory_gib", worth.memory_gib}, {"spot_gap_h", worth.spot_gap_h}};
  for (const auto& [key, value] : numbers)
    need(std::isfinite(value) && value >= 0, place, std::string("plan.") + key + ": no number from 0 on");
  need(worth.hosts >= 1 && worth.hosts <= 65536, place, "plan.hosts: from 1 to 65536");
  const std::vector<double>& queue = worth.queue_s;
  need(queue.empty() || (queue.size() == 3 && 0 < queue[0] && queue[0] <= queue[1] && queue[1] <= queue[2] &&
                         std::isfinite(queue[2])),
       place, "plan.queue_s: [low, middle, high] seconds, rising from above 0, e.g. [30, 120, 900]");
  if (!worth.link.empty()) plan::parse_link(worth.link);
}

}  // namespace

void check_common(const CommonSettings& settings, const std::string& place) {
  // Batch systems put it into lines of their own, where they know no quotes and give '%' a meaning.
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("/._-+=,@").find(c) != std::string::npos;
  };
  need(settings.folder.starts_with('/') && std::all_of(settings.folder.begin(), settings.folder.end(), plain), place,
       "folder: '" + settings.folder +
           "' is no path from / on of letters, digits and ._-+=,@; name a folder there, e.g. /home/me/linac");
  need(settings.out.empty() || settings.out.starts_with("s3://"), place,
       "out: '" + settings.out + "' is no address s3://BUCKET/FOLDER; leave it out to keep runs in folder");
  need(!settings.program.empty() && settings.program.find('\n') == std::string::npos, place,
       "program: empty; name linac's path there");
  for (const auto& [name, value] : settings.environment) {
    need(is_name(name) && value.find('\n') == std::string::npos, place,
         "environment." + name + ": no variable of one line; write NAME: value");
    // By its value it would stand in a script that others may read.
    need(name != "LINAC_RUN_KEY" && name != "LINAC_RUN_KEY_FILE", place,
         "environment." + name + ": each launch gets a key of its own; leave it out");
  }
  for (const std::string& line : settings.setup)
    need(line.find('\n') == std::string::npos, place, "setup: one line of shell each; make it a list");
  check_worth(settings.plan, place);
}

}  // namespace linac::sites
