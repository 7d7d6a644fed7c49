#include "linac/cli/compute/plan_places.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/cli/compute/probe.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {
namespace {

// Of its peak a network of this size gets so much from a GPU, and the same from a host's processor: what the published
// 3DGAN took on a V100 is 0.2 of it (docs/guide/planning.md), and networks differ by more than two either way.
constexpr double kShareOfPeak = 0.2, kShareOfPeakSpread = 0.6;
constexpr double kSameKindOfCoreSpread = 0.25;

void add_price(const plan::Book& book, const std::string& machine, const std::string& region, const PlaceWishes& wishes,
               plan::Place& place) {
  for (const plan::Market market : {plan::Market::kOnDemand, plan::Market::kSpot}) {
    auto& slot = market == plan::Market::kSpot ? place.spot_price : place.price;
    if (slot) continue;
    const plan::Price* price = book.price(machine, market, region, wishes.date);
    const bool elsewhere = price == nullptr && !region.empty();
    if (elsewhere) price = book.price(machine, market, "", wishes.date);
    if (price == nullptr) continue;
    slot = price->usd_per_hour;
    const std::string remark = fmt::format("its price in {} is not known: that of {}", region, price->region);
    if (elsewhere && std::ranges::find(place.remarks, remark) == place.remarks.end()) place.remarks.push_back(remark);
  }
}

void add_machine(const plan::Machine& machine, const plan::Measured& measured, const plan::Book& book,
                 plan::Place& place) {
  place.machine = machine.name;
  place.cores = std::max(1, machine.cores);
  place.devices = machine.devices;
  place.memory_gib = machine.memory_gib;
  if (place.slower.spread == 0 && place.slower.middle == 1) place.slower = slower_on(machine, measured, book);
  if (!place.watts && machine.busy_w > 0) place.watts = machine.busy_w;
  if (!place.link_known && machine.link_gbit_s > 0) {
    place.link.bytes_per_s = machine.link_gbit_s * 1e9 / 8;
    place.link_known = true;
  }
}

void add_carbon(const plan::Book& book, const std::string& region, plan::Place& place) {
  const plan::Carbon* carbon = region.empty() ? nullptr : book.carbon_of(region);
  if (!place.co2_g_per_kwh && carbon != nullptr) place.co2_g_per_kwh = carbon->g_per_kwh;
}

std::string region_of(const PlaceWishes& wishes) {
  return wishes.regions.empty() ? "" : wishes.regions.front();
}

plan::Place here(const plan::Measured& measured, const plan::Book& book, const PlaceWishes& wishes) {
  const std::string region = region_of(wishes);
  plan::Place place;
  place.name = "here";
  place.machine = this_host();
  place.here = measured.host == place.machine;
  place.cores = core_time();
  place.memory_gib = host_memory_gib();
  if (!place.here) {
    place.slower = {1, kSameKindOfCoreSpread * 2};
    place.remarks.push_back(
        fmt::format("measured on another host ({}): a step is supposed to take as long here", measured.host));
  }
  if (const plan::Machine* machine = measured.machine.empty() ? nullptr : book.machine(measured.machine)) {
    if (machine->busy_w > 0) place.watts = machine->busy_w;
    add_price(book, machine->name, region, wishes, place);
  }
  if (place.here && measured.watts) {
    place.watts = measured.watts;
    place.remarks.push_back(
        fmt::format("energy as it was measured: {:.3g} W of processors and GPUs, without fans, disks and losses of the "
                    "power supply",
                    *measured.watts));
  }
  add_carbon(book, region, place);
  return place;
}

plan::Place site_place(const sites::Site& site, const plan::Measured& measured, const plan::Book& book,
                       const PlaceWishes& wishes) {
  const sites::Worth& worth = site.common().plan;
  plan::Place place;
  place.name = site.name();
  place.hosts_max = worth.hosts;
  const bool local = site.common().kind == "local";
  const std::string region = worth.region.empty() ? region_of(wishes) : worth.region;
  if (worth.price > 0) place.price = worth.price;
  if (worth.spot_price > 0) place.spot_price = worth.spot_price;
  if (worth.watts > 0) place.watts = worth.watts;
  if (worth.co2_g_per_kwh > 0) place.co2_g_per_kwh = worth.co2_g_per_kwh;
  place.spot_life_h = worth.spot_life_h;
  place.spot_gap_h = worth.spot_gap_h;
  if (worth.slower > 0) place.slower = {worth.slower, kSameKindOfCoreSpread};
  if (!worth.link.empty()) place.link = plan::parse_link(worth.link), place.link_known = true;
  if (!worth.queue_s.empty()) {
    place.queue = plan::Estimate::of({worth.queue_s[0], worth.queue_s[1], worth.queue_s[2]});
  } else if (!local) {
    place.queue = {60, 1};
    place.remarks.push_back("how long a launch waits there is not known: a minute is supposed; set plan.queue_s");
  }
  if (!worth.machine.empty()) {
    const plan::Machine* machine = book.machine(worth.machine);
    if (machine == nullptr)
      throw user_error(
          fmt::format("{}: plan.machine: the price book has no '{}'; `linac plan prices` lists its machines",
                      site.place(), worth.machine));
    add_machine(*machine, measured, book, place);
    add_price(book, machine->name, region, wishes, place);
  } else if (local) {
    const plan::Place same = here(measured, book, wishes);
    place.here = same.here;
    place.machine = same.machine;
    place.cores = same.cores;
    place.memory_gib = same.memory_gib;
    if (worth.slower == 0) place.slower = same.slower;
  } else {
    place.cores = measured.cores;
    if (worth.slower == 0) place.slower = {1, 2 * kSameKindOfCoreSpread};
    place.remarks.push_back("what its hosts are is not known: one like the measured is supposed; set plan.machine");
  }
  if (worth.memory_gib > 0) place.memory_gib = worth.memory_gib;
  add_carbon(book, region, place);
  return place;
}

}  // namespace

double peak_tflops(const plan::Machine& machine, const std::string& precision) {
  return precision == "bf16" ? machine.bf16_tflops : machine.fp32_tflops;
}

plan::Estimate slower_on(const plan::Machine& machine, const plan::Measured& measured, const plan::Book& book) {
  if (machine.name == measured.machine) return {1, 0};
  const plan::Machine* there = measured.machine.empty() ? nullptr : book.machine(measured.machine);
  // A replica on so many cores of a processor, or on a GPU.
  const auto tflops = [&](const plan::Machine& one) {
    const double peak = peak_tflops(one, measured.precision);
    return one.devices > 0 ? peak : peak * measured.threads / std::max(1, one.cores);
  };
  if (there != nullptr && tflops(*there) > 0 && tflops(machine) > 0)
    return {tflops(*there) / tflops(machine),
            (there->devices > 0) == (machine.devices > 0) ? 0.35 : kShareOfPeakSpread};
  if (machine.devices == 0) return {1, kSameKindOfCoreSpread};  // a core like any other
  if (measured.flop > 0 && tflops(machine) > 0)
    return {measured.flop / (kShareOfPeak * 1e12 * tflops(machine)) / measured.step_s(), kShareOfPeakSpread};
  return {1, 2};
}

std::vector<plan::Place> places_for(const PlaceWishes& wishes, const plan::Measured& measured, const plan::Book& book) {
  std::vector<plan::Place> places;
  if (wishes.here) places.push_back(here(measured, book, wishes));
  const bool all = std::find(wishes.sites.begin(), wishes.sites.end(), "all") != wishes.sites.end();
  if (all) {
    for (const auto& site : sites::read_sites()) places.push_back(site_place(*site, measured, book, wishes));
  } else {
    for (const std::string& name : wishes.sites)
      places.push_back(site_place(*sites::find_site(name), measured, book, wishes));
  }
  for (const std::string& pattern : wishes.machines) {
    bool any = false;
    for (const plan::Machine& machine : book.machines) {
      if (fnmatch(pattern.c_str(), machine.name.c_str(), 0) != 0) continue;
      any = true;
      for (const std::string& region : wishes.regions.empty() ? std::vector<std::string>{""} : wishes.regions) {
        plan::Place place;
        place.name = region.empty() ? machine.name : machine.name + " " + region;
        place.hosts_max = wishes.hosts_max;
        place.spot_life_h = wishes.spot_life_h;
        place.spot_gap_h = wishes.spot_gap_h;
        add_machine(machine, measured, book, place);
        add_price(book, machine.name, region, wishes, place);
        add_carbon(book, region, place);
        places.push_back(std::move(place));
      }
    }
    if (!any)
      throw user_error(
          fmt::format("[plan] --machine {}: the price book has none like it; `linac plan prices` lists them", pattern));
  }
  return places;
}

}  // namespace linac::cli
