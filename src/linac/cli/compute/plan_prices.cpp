#include "linac/cli/compute/plan_prices.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/text_table.h"
#include "linac/base/plan/prices.h"

namespace linac::cli {
namespace {

using nlohmann::ordered_json;

struct PricesWords {
  std::string machine, book, check;
  bool json = false;
};

/// What no source says is 0 in the book.
std::string known(double value, const char* form = "{:g}") {
  return value == 0 ? "-" : fmt::format(fmt::runtime(form), value);
}

std::string devices_of(const plan::Machine& machine) {
  return machine.devices == 0 ? machine.device : fmt::format("{} {}", machine.devices, machine.device);
}

std::vector<plan::Price> prices_of(const plan::Book& book, const plan::Machine& machine, plan::Market market) {
  std::vector<plan::Price> found;
  for (const plan::Price& price : book.prices)
    if (price.machine == machine.name && price.market == market) found.push_back(price);
  return found;
}

void print_machines(const plan::Book& book, const std::vector<plan::Machine>& machines) {
  const std::string day = plan::today();
  TextRows rows{{"machine", "devices", "cores", "GiB", "TFLOP/s fp32", "bf16", "W idle", "busy", "Gbit/s", "region",
                 "USD/h", "spot", "of"}};
  size_t priced = 0, old = 0;
  for (const plan::Machine& machine : machines) {
    const std::vector<std::string> facts{machine.name,
                                         devices_of(machine),
                                         known(machine.cores),
                                         known(machine.memory_gib),
                                         known(machine.fp32_tflops),
                                         known(machine.bf16_tflops),
                                         known(machine.idle_w),
                                         known(machine.busy_w),
                                         known(machine.link_gbit_s)};
    std::set<std::string> regions;
    for (const plan::Price& price : book.prices)
      if (price.machine == machine.name) regions.insert(price.region);
    if (regions.empty()) regions.insert("");
    bool first = true;
    for (const std::string& region : regions) {
      std::vector<std::string> row = first ? facts : std::vector<std::string>(facts.size());
      first = false;
      row.push_back(region);
      std::string of;
      for (const plan::Market market : {plan::Market::kOnDemand, plan::Market::kSpot}) {
        const plan::Price* price = book.price(machine.name, market, region);
        row.push_back(price == nullptr ? "-" : fmt::format("{:.4g}", price->usd_per_hour));
        if (price == nullptr) continue;
        const bool is_old = plan::is_old(price->source, day);
        of = price->source.date + (is_old ? ", old" : "");
        ++priced;
        old += is_old ? 1 : 0;
      }
      row.push_back(of);
      rows.push_back(std::move(row));
    }
  }
  fmt::print("{}", lined_up(rows));
  if (old > 0)
    fmt::print(
        "\n{} of {} are older than a year: ask the cloud, and write what it says into a book of your own (--prices).\n",
        plural(static_cast<int64_t>(old), "price"), priced);
  for (const plan::Rate& rate : book.rates)
    fmt::print("1 {} = {:g} USD ({}{})\n", rate.currency, rate.usd, rate.source.date,
               plan::is_old(rate.source, day) ? ", old" : "");
  fmt::print("Sources, and carbon by region: --json\n");
}

ordered_json to_json(const plan::Source& source, const std::string& day) {
  return {{"date", source.date}, {"text", source.text}, {"old", plan::is_old(source, day)}};
}

ordered_json to_json(const plan::Book& book, const std::vector<plan::Machine>& machines) {
  const std::string day = plan::today();
  auto list = ordered_json::array();
  for (const plan::Machine& machine : machines) {
    auto prices = ordered_json::array();
    for (const plan::Market market : {plan::Market::kOnDemand, plan::Market::kSpot})
      for (const plan::Price& price : prices_of(book, machine, market))
        prices.push_back({{"region", price.region},
                          {"market", plan::to_string(market)},
                          {"usd_per_hour", price.usd_per_hour},
                          {"source", to_json(price.source, day)}});
    list.push_back({{"name", machine.name},
                    {"cloud", machine.cloud},
                    {"device", machine.device},
                    {"devices", machine.devices},
                    {"cores", machine.cores},
                    {"memory_gib", machine.memory_gib},
                    {"device_memory_gib", machine.device_memory_gib},
                    {"fp32_tflops", machine.fp32_tflops},
                    {"bf16_tflops", machine.bf16_tflops},
                    {"memory_gb_s", machine.memory_gb_s},
                    {"idle_w", machine.idle_w},
                    {"busy_w", machine.busy_w},
                    {"link_gbit_s", machine.link_gbit_s},
                    {"source", to_json(machine.source, day)},
                    {"prices", std::move(prices)}});
  }
  auto carbon = ordered_json::array();
  for (const plan::Carbon& region : book.carbon)
    carbon.push_back(
        {{"region", region.region}, {"g_per_kwh", region.g_per_kwh}, {"source", to_json(region.source, day)}});
  auto rates = ordered_json::array();
  for (const plan::Rate& rate : book.rates)
    rates.push_back({{"currency", rate.currency}, {"usd", rate.usd}, {"source", to_json(rate.source, day)}});
  return {{"machines", std::move(list)}, {"carbon", std::move(carbon)}, {"rates", std::move(rates)}};
}

void run_check(const std::string& file) {
  const plan::Book own = plan::read_own_book(file);
  plan::read_book(file);  // what it does to the built-in one
  const auto count = [](size_t number, const char* what) { return plural(static_cast<int64_t>(number), what); };
  fmt::print("{}: sound: {}, {}, {}, {} with their carbon, {} of exchange\n", file, count(own.devices.size(), "device"),
             count(own.machines.size(), "machine"), count(own.prices.size(), "price"),
             count(own.carbon.size(), "region"), count(own.rates.size(), "rate"));
}

void run(const PricesWords& words) {
  if (!words.check.empty()) return run_check(words.check);
  const plan::Book book = plan::read_book(words.book);
  std::vector<plan::Machine> machines = book.machines;
  if (!words.machine.empty())
    std::erase_if(machines, [&](const plan::Machine& machine) {
      return ::fnmatch(words.machine.c_str(), machine.name.c_str(), 0) != 0 &&
             ::fnmatch(words.machine.c_str(), machine.device.c_str(), 0) != 0;
    });
  if (machines.empty())
    throw user_error(
        fmt::format("[prices] no machine and no device is called '{}'; linac plan prices lists all of "
                    "them, and a pattern wants quotes: 'gcp/*'",
                    words.machine));
  if (words.json)
    fmt::print("{}\n", to_json(book, machines).dump(2, ' ', false, ordered_json::error_handler_t::replace));
  else
    print_machines(book, machines);
}

}  // namespace

void add_plan_prices(CLI::App& plan) {
  auto* verb = plan.add_subcommand("prices", "The price book: machines, what they cost, draw and can do, with sources");
  auto words = std::make_shared<PricesWords>();
  verb->add_option("--machine", words->machine, "only those whose name or device this is, or matches: 'gcp/*', V100");
  verb->add_option("--prices", words->book, "a book of your own, whose lines come first; else that of LINAC_PRICES");
  verb->add_flag("--json", words->json, "as JSON, with sources and carbon by region");
  verb->add_option("--check", words->check, "says whether this book of your own can be used");
  verb->footer(
      "Examples:\n  linac plan prices --machine V100\n  linac plan prices --machine 'gcp/*' --json\n"
      "  linac plan prices --check prices.yaml");
  verb->callback([words] { run(*words); });
}

}  // namespace linac::cli
