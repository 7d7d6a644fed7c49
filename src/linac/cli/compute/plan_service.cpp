#include "linac/cli/compute/plan_service.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/control/client/login.h"
#include "linac/control/client/service_client.h"

namespace linac::cli {
namespace {

using nlohmann::json;

// A page's address as a browser has it, "https://HOST/#/runs", is the service's too.
std::string server_of(const std::string& address) {
  return address.substr(0, address.find("/#"));
}

json list_of(const std::string& address, const std::string& path, const client::Query& query, const char* name) {
  client::ServiceClient service(client::find_login(server_of(address)));
  const json answer = service.get(path, query);
  const json found = answer.is_object() ? answer.value(name, json()) : json();
  if (!found.is_array())
    throw user_error(fmt::format("[plan] {}: tells no {}; is it a service of this linac?", address, name));
  return found;
}

}  // namespace

bool is_service(const std::string& text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

std::vector<plan::Offer> offers_at(const std::string& address) {
  std::vector<plan::Offer> offers;
  for (const json& one : list_of(address, "/api/v1/plans/places", {}, "places"))
    offers.push_back(plan::offer_from(one, address));
  return offers;
}

std::vector<plan::PastRun> runs_at(const std::string& address, const std::string& kin,
                                   const std::optional<std::string>& goal) {
  client::Query query;
  if (!kin.empty()) query.emplace_back("kin", kin);
  if (goal) query.emplace_back("goal", *goal);
  std::vector<plan::PastRun> runs;
  for (const json& one : list_of(address, "/api/v1/plans/runs", query, "runs")) {
    plan::PastRun run = plan::past_run_from(one, address);
    run.where = fmt::format("{}/#/runs/{}", server_of(address), run.where);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace linac::cli
