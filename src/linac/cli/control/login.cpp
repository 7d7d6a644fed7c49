#include "linac/control/client/login.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "linac/base/base/error.h"
#include "linac/cli/common/secret_input.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"

namespace linac::cli {
namespace {

struct LoginOptions {
  ServiceOptions service;
  bool forget = false;
};

std::string read_token() {
  constexpr size_t kBytesMax = 4096;
  std::string token = secret_input("token", kBytesMax);
  token.resize(std::min(token.find('\n'), token.size()));  // its first line
  while (!token.empty() && (token.back() == ' ' || token.back() == '\r')) token.pop_back();
  if (token.empty())
    throw user_error("[login] no token; an admin makes one, the first start of `linac serve` prints the admin's");
  return token;
}

void run_login(const LoginOptions& options) {
  client::Login login = client::find_login(options.service.server);
  if (options.forget) {
    fmt::print("{}\n", client::forget_login(login.server) ? "logged out of " + login.server
                                                          : "was not logged in at " + login.server);
    return;
  }
  login.token = read_token();
  client::ServiceClient service(login);
  const auto me = service.get("/api/v1/me");
  client::keep_login(login);
  if (options.service.json)
    fmt::print("{}\n", me.dump(2));
  else
    fmt::print("logged in at {} as {} ({}); kept in {}\n", login.server, me.value("user", "?"), me.value("role", "?"),
               client::login_file().string());
}

}  // namespace

void add_login_verb(CLI::App& app) {
  auto options = std::make_shared<LoginOptions>();
  auto* verb = app.add_subcommand("login", "Keeps the token for a service, read from the terminal or standard input");
  verb->add_flag("--forget", options->forget, "log out");
  add_service_options(*verb, options->service);
  verb->footer(
      "Examples:\n  linac login --server https://linac.example.org\n  linac login < token.txt\nThe token can also come "
      "from LINAC_TOKEN.");
  verb->callback([options] { run_login(*options); });
}

}  // namespace linac::cli
