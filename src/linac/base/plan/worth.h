#pragma once
// What a planner is told of hosts that it cannot see: prices, numbers, how long a launch waits. A value; thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace linac::plan {

struct Worth {
  std::string machine, region, link;
  int hosts = 1;
  double price = 0, spot_price = 0, spot_life_h = 0, spot_gap_h = 0, slower = 0, memory_gib = 0;
  double watts = 0, co2_g_per_kwh = 0;
  std::vector<double> queue_s;

  template <class V>
  void fields(V& v) {
    v("machine", machine, "what a host there is, by the price book (`linac plan prices`)");
    v("hosts", hosts, "so many at most");
    v("region", region, "of the price book: for prices and carbon dioxide");
    v("price", price, "US dollars for an hour of a host; 0: as the book says");
    v("spot_price", spot_price, "likewise of one that may be taken away");
    v("spot_life_h", spot_life_h, "hours until such a host is taken away, on average; 0: not known");
    v("spot_gap_h", spot_gap_h,
      "hours until another such host can be had, on average; 0: as long as a launch waits (queue_s)");
    v("link", link, "between hosts, RATE:LATENCY, e.g. 25gbit:20us");
    v("queue_s", queue_s,
      "seconds that a launch waits there: [low, middle, high] of four in five, e.g. [30, 120, 900]");
    v("slower", slower, "a step there takes so many times what it takes where it was measured; 0: by the book");
    v("memory_gib", memory_gib, "of a host; 0: as the book says");
    v("watts", watts, "of a busy host; 0: as the book says");
    v("co2_g_per_kwh", co2_g_per_kwh, "g of carbon dioxide for a kWh there; 0: as the book says of the region");
  }
};

/// User error "PLACE.plan.price: ..." for what cannot be.
void check_worth(const Worth& worth, const std::string& place);

nlohmann::json to_json(const Worth& worth);
/// What is missing is as nobody said it. User error naming `place` for what is of another kind, or cannot be.
Worth worth_from(const nlohmann::json& json, const std::string& place);

}  // namespace linac::plan
