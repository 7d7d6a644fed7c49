#include "linac/base/plan/places.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/base/plan/work.h"

namespace linac::plan {
namespace {

using nlohmann::json;

// Of its peak a network of this size gets so much from a GPU, and the same from a host's processor: what the published
// 3DGAN took on a V100 is 0.2 of it (docs/guide/planning.md), and networks differ by more than two either way.
constexpr double kShareOfPeak = 0.2, kShareOfPeakSpread = 0.6;
constexpr double kSameKindOfCoreSpread = 0.25;

void add_price(const Book& book, const std::string& machine, const std::string& region, const BookWishes& wishes,
               Place& place) {
  for (const Market market : {Market::kOnDemand, Market::kSpot}) {
    auto& slot = market == Market::kSpot ? place.spot_price : place.price;
    if (slot) continue;
    const Price* price = book.price(machine, market, region, wishes.date);
    const bool elsewhere = price == nullptr && !region.empty();
    if (elsewhere) price = book.price(machine, market, "", wishes.date);
    if (price == nullptr) continue;
    slot = price->usd_per_hour;
    const std::string remark = fmt::format("its price in {} is not known: that of {}", region, price->region);
    if (elsewhere && std::ranges::find(place.remarks, remark) == place.remarks.end()) place.remarks.push_back(remark);
  }
}

void add_machine(const Machine& machine, const Measured& measured, const Book& book, Place& place) {
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

void add_carbon(const Book& book, const std::string& region, Place& place) {
  const Carbon* carbon = region.empty() ? nullptr : book.carbon_of(region);
  if (!place.co2_g_per_kwh && carbon != nullptr) place.co2_g_per_kwh = carbon->g_per_kwh;
}

void add_host(const HostOf& host, const Measured& measured, const Book& book, const std::string& region,
              const BookWishes& wishes, Place& place) {
  place.machine = host.host;
  place.here = is_host(measured.host, host.host);
  place.cores = host.cores;
  place.memory_gib = host.memory_gib;
  if (!place.here && place.slower.spread == 0) {
    place.slower = {1, kSameKindOfCoreSpread * 2};
    place.remarks.push_back(
        fmt::format("measured on another host ({}): a step is supposed to take as long there", measured.host));
  }
  const Machine* machine = measured.machine.empty() ? nullptr : book.machine(measured.machine);
  if (machine != nullptr && place.here) {
    if (!place.watts && machine->busy_w > 0) place.watts = machine->busy_w;
    add_price(book, machine->name, region, wishes, place);
  }
  if (place.here && measured.watts) {
    place.watts = measured.watts;
    place.remarks.push_back(
        fmt::format("energy as it was measured: {:.3g} W of processors and GPUs, without fans, disks and losses of the "
                    "power supply",
                    *measured.watts));
  }
}

Place said_of(const Worth& worth) {
  Place place;
  place.hosts_max = worth.hosts;
  if (worth.price > 0) place.price = worth.price;
  if (worth.spot_price > 0) place.spot_price = worth.spot_price;
  if (worth.watts > 0) place.watts = worth.watts;
  if (worth.co2_g_per_kwh > 0) place.co2_g_per_kwh = worth.co2_g_per_kwh;
  place.spot_life_h = worth.spot_life_h;
  place.spot_gap_h = worth.spot_gap_h;
  if (worth.slower > 0) place.slower = {worth.slower, kSameKindOfCoreSpread};
  if (!worth.link.empty()) place.link = parse_link(worth.link), place.link_known = true;
  return place;
}

void add_queue(const Offer& offer, Place& place) {
  const std::vector<double>& queue = offer.worth.queue_s;
  if (!queue.empty()) {
    place.queue = Estimate::of({queue[0], queue[1], queue[2]});
  } else if (offer.waits) {
    place.queue = {60, 1};
    place.remarks.push_back(std::string("how long a launch waits there is not known: a minute is supposed") +
                            (offer.host ? "" : "; set plan.queue_s"));
  }
}

}  // namespace

HostOf this_machine() {
  return {this_host(), core_time(), host_memory_gib()};
}

json to_json(const Offer& offer) {
  json host = nullptr;
  if (offer.host)
    host = {{"host", offer.host->host}, {"cores", offer.host->cores}, {"memory_gib", offer.host->memory_gib}};
  return {{"name", offer.name}, {"plan", to_json(offer.worth)}, {"host", std::move(host)}, {"waits", offer.waits}};
}

Offer offer_from(const json& object, const std::string& where) {
  try {
    Offer offer{object.at("name").get<std::string>(), worth_from(object.at("plan"), where), std::nullopt,
                object.at("waits").get<bool>()};
    const json& host = object.at("host");
    if (!host.is_null())
      offer.host = HostOf{host.at("host").get<std::string>(), host.at("cores").get<double>(),
                          host.at("memory_gib").get<double>()};
    if (offer.host && !(std::isfinite(offer.host->cores) && offer.host->cores > 0 && offer.host->memory_gib >= 0))
      throw user_error(
          fmt::format("[plan] {}: {}: a host with cores and memory from 0 on is wanted", where, offer.name));
    return offer;
  } catch (const json::exception&) {
    throw user_error(fmt::format("[plan] {}: tells no place; is it a service of this linac?", where));
  }
}

double peak_tflops(const Machine& machine, const std::string& precision) {
  return precision == "bf16" ? machine.bf16_tflops : machine.fp32_tflops;
}

Estimate slower_on(const Machine& machine, const Measured& measured, const Book& book) {
  if (machine.name == measured.machine) return {1, 0};
  const Machine* there = measured.machine.empty() ? nullptr : book.machine(measured.machine);
  // A replica on so many cores of a processor, or on a GPU.
  const auto tflops = [&](const Machine& one) {
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

Place place_of(const Offer& offer, const Measured& measured, const Book& book, const BookWishes& wishes) {
  const Worth& worth = offer.worth;
  Place place = said_of(worth);
  place.name = offer.name;
  add_queue(offer, place);
  const std::string region = !worth.region.empty()    ? worth.region
                             : wishes.regions.empty() ? ""
                                                      : wishes.regions.front();
  if (!worth.machine.empty()) {
    const Machine* machine = book.machine(worth.machine);
    if (machine == nullptr)
      throw user_error(
          fmt::format("{}: plan.machine: the price book has no '{}'; `linac plan prices` lists its machines",
                      offer.name, worth.machine));
    add_machine(*machine, measured, book, place);
    add_price(book, machine->name, region, wishes, place);
  } else if (offer.host) {
    add_host(*offer.host, measured, book, region, wishes, place);
  } else {
    place.cores = measured.cores;
    if (worth.slower == 0) place.slower = {1, 2 * kSameKindOfCoreSpread};
    place.remarks.push_back("what its hosts are is not known: one like the measured is supposed; set plan.machine");
  }
  if (worth.memory_gib > 0) place.memory_gib = worth.memory_gib;
  add_carbon(book, region, place);
  return place;
}

std::vector<Place> places_of_book(const BookWishes& wishes, const Measured& measured, const Book& book) {
  std::vector<Place> places;
  for (const std::string& pattern : wishes.machines) {
    bool any = false;
    for (const Machine& machine : book.machines) {
      if (fnmatch(pattern.c_str(), machine.name.c_str(), 0) != 0) continue;
      any = true;
      for (const std::string& region : wishes.regions.empty() ? std::vector<std::string>{""} : wishes.regions) {
        Place& place = places.emplace_back();
        place.name = region.empty() ? machine.name : machine.name + " " + region;
        place.hosts_max = wishes.hosts_max;
        place.spot_life_h = wishes.spot_life_h;
        place.spot_gap_h = wishes.spot_gap_h;
        add_machine(machine, measured, book, place);
        add_price(book, machine.name, region, wishes, place);
        add_carbon(book, region, place);
      }
    }
    if (!any)
      throw user_error(
          fmt::format("[plan] --machine {}: the price book has none like it; `linac plan prices` lists them", pattern));
  }
  return places;
}

}  // namespace linac::plan
