#include "linac/base/plan/worth.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/plan/scaling.h"

namespace linac::plan {
namespace {

constexpr int kHostsMax = 65536;

void need(bool holds, const std::string& place, const std::string& what) {
  if (!holds) throw user_error(place + "." + what);
}

struct Writer {
  nlohmann::json json = nlohmann::json::object();
  template <class T>
  void operator()(const char* name, const T& value, const char*) {
    json[name] = value;
  }
};

struct Reader {
  const nlohmann::json& json;
  const std::string& place;
  template <class T>
  void operator()(const char* name, T& value, const char*) {
    const auto found = json.find(name);
    if (found == json.end()) return;
    try {
      value = found->get<T>();
    } catch (const nlohmann::json::exception&) {
      throw user_error(place + ".plan." + name + ": is of another kind");
    }
  }
};

}  // namespace

void check_worth(const Worth& worth, const std::string& place) {
  const std::pair<const char*, double> numbers[] = {
      {"price", worth.price},           {"spot_price", worth.spot_price},
      {"slower", worth.slower},         {"spot_life_h", worth.spot_life_h},
      {"watts", worth.watts},           {"co2_g_per_kwh", worth.co2_g_per_kwh},
      {"memory_gib", worth.memory_gib}, {"spot_gap_h", worth.spot_gap_h}};
  for (const auto& [key, value] : numbers)
    need(std::isfinite(value) && value >= 0, place, std::string("plan.") + key + ": no number from 0 on");
  need(worth.hosts >= 1 && worth.hosts <= kHostsMax, place, "plan.hosts: from 1 to 65536");
  const std::vector<double>& queue = worth.queue_s;
  need(queue.empty() || (queue.size() == 3 && 0 < queue[0] && queue[0] <= queue[1] && queue[1] <= queue[2] &&
                         std::isfinite(queue[2])),
       place, "plan.queue_s: [low, middle, high] seconds, rising from above 0, e.g. [30, 120, 900]");
  if (!worth.link.empty()) parse_link(worth.link);
}

nlohmann::json to_json(const Worth& worth) {
  Writer writer;
  Worth copy = worth;
  copy.fields(writer);
  return writer.json;
}

Worth worth_from(const nlohmann::json& json, const std::string& place) {
  need(json.is_object(), place, "plan: no object");
  Worth worth;
  Reader reader{json, place};
  worth.fields(reader);
  check_worth(worth, place);
  return worth;
}

}  // namespace linac::plan
