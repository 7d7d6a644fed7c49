#include "linac/control/service/plan_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "linac/base/base/error.h"
#include "linac/base/plan/work.h"
#include "linac/control/catalog/queue.h"
#include "linac/control/execution/prices.h"

namespace linac::service {
namespace {

constexpr double kMbOfGib = 1024;

// Of all its slots, in US dollars; nothing if it is not known.
double price_of(const execution::Prices& prices, const launch::Demand& all, const plan::Book& book,
                std::vector<std::string>& remarks) {
  if (!prices.known()) return 0;
  catalog::Resources resources;
  resources.cores = all.cores, resources.memory_mb = all.memory_mb, resources.gpus = all.gpus;
  try {
    return prices.of(resources, 3600) * book.rate_of(prices.currency).usd;
  } catch (const Error&) {
    remarks.push_back(fmt::format("the service's prices are in {}, of which the price book has no rate of exchange",
                                  prices.currency));
    return 0;
  }
}

/// Places for which somebody's job waits already.
std::set<std::string> places_waited_for(Context& context) {
  std::set<std::string> places;
  context.catalog.read(
      [&](catalog::Database& database) {
        for (const catalog::QueuedJob& job : catalog::queue(database))
          if (job.state == catalog::RunState::kPending) places.insert(job.wishes.place);
      },
      kReadMax);
  return places;
}

std::vector<plan::Offer> agents_of(const launch::PilotBoard& pilots, const Caller& caller, bool waits) {
  using Kind = std::tuple<int64_t, int64_t, int64_t, double>;
  std::map<Kind, std::pair<plan::Offer, int>> kinds;
  for (const launch::PilotAgent& agent : pilots.agents()) {
    const bool takes = agent.of_all || agent.user == caller.user;
    if (!takes || agent.draining) continue;
    auto [found, fresh] = kinds.try_emplace({agent.all.cores, agent.all.memory_mb, agent.all.gpus, agent.price});
    auto& [offer, count] = found->second;
    ++count;
    if (!fresh) continue;
    offer.name = "agent " + agent.name;
    offer.worth.price = agent.price;
    offer.host = plan::HostOf{agent.host, std::max(1.0, static_cast<double>(agent.all.cores)),
                              static_cast<double>(agent.all.memory_mb) / kMbOfGib};
    offer.waits = waits;
  }
  std::vector<plan::Offer> offers;
  for (auto& [kind, one] : kinds) {
    if (one.second > 1) one.first.name += fmt::format(" and {} like it", one.second - 1);
    offers.push_back(std::move(one.first));
  }
  return offers;
}

}  // namespace

std::vector<plan::Offer> PlanPlaces::offers(const Caller& caller, const plan::Book& book,
                                            std::vector<std::string>& remarks) const {
  const std::set<std::string> waited_for = places_waited_for(context);
  const launch::Demand& all = scheduler.all();
  plan::HostOf own = plan::this_machine();
  own.cores = std::max(1.0, std::min(own.cores, static_cast<double>(all.cores)));
  if (all.memory_mb > 0) own.memory_gib = std::min(own.memory_gib, static_cast<double>(all.memory_mb) / kMbOfGib);
  std::vector<plan::Offer> offers;
  plan::Offer& here = offers.emplace_back();
  here.name = "the service's host";
  here.worth.price = price_of(scheduler.attempts().prices, all, book, remarks);
  here.host = own;
  here.waits = waited_for.contains(catalog::kOwnHost);
  for (plan::Offer& agent : agents_of(pilots, caller, waited_for.contains(catalog::kPilots)))
    offers.push_back(std::move(agent));
  for (const auto& site : sites.open_to(caller)) {
    plan::Offer offer{site->name(), site->common().plan, std::nullopt, true};
    if (site->common().kind == "local") offer.host = own, offer.waits = waited_for.contains(site->name());
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace linac::service
