#include "linac/cli/compute/plan_places.h"

#include <iterator>
#include <utility>

#include "linac/cli/compute/plan_service.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {
namespace {

plan::Offer offer_of(const sites::Site& site) {
  plan::Offer offer{site.name(), site.common().plan, std::nullopt, true};
  if (site.common().kind == "local") offer.host = plan::this_machine(), offer.waits = false;
  return offer;
}

}  // namespace

std::vector<plan::Offer> offers_of(const std::vector<std::string>& names, bool here) {
  std::vector<plan::Offer> offers;
  if (here) offers.push_back({"here", {}, plan::this_machine(), false});
  for (const std::string& name : names) {
    if (is_service(name)) {
      std::vector<plan::Offer> there = offers_at(name);
      std::move(there.begin(), there.end(), std::back_inserter(offers));
    } else if (name == "all") {
      for (const auto& site : sites::read_sites()) offers.push_back(offer_of(*site));
    } else {
      offers.push_back(offer_of(*sites::find_site(name)));
    }
  }
  return offers;
}

}  // namespace linac::cli
