#pragma once
// What the verbs that speak to a service have in common: --server and --json.

#include <CLI/CLI.hpp>
#include <string>

#include "linac/control/client/service_client.h"

namespace linac::cli {

struct ServiceOptions {
  std::string server;
  bool json = false;

  client::ServiceClient connect() const { return client::ServiceClient(client::find_login(server)); }
};

void add_service_options(CLI::App& verb, ServiceOptions& options);

}  // namespace linac::cli
