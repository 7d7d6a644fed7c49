#include "linac/io/storage/rucio/access.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "linac/base/base/error.h"

namespace linac::storage::rucio {
namespace {

namespace fs = std::filesystem;

/// The file that Rucio's client would take; empty if there is none.
fs::path config_file(const Environment& environment) {
  if (const std::string named = environment("RUCIO_CONFIG"); !named.empty()) return named;
  std::error_code none;
  for (const char* root : {"RUCIO_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string folder = environment(root);
    const fs::path file = fs::path(folder) / "etc" / "rucio.cfg";
    if (!folder.empty() && fs::is_regular_file(file, none)) return file;
  }
  const fs::path usual = "/opt/rucio/etc/rucio.cfg";
  return fs::is_regular_file(usual, none) ? usual : fs::path();
}

std::string checked_host(std::string host, const fs::path& file) {
  while (host.ends_with('/')) host.pop_back();
  if (host.empty())
    throw user_error(fmt::format(
        "[rucio] no server is named{}; set RUCIO_CONFIG to a rucio.cfg with rucio_host and auth_host in [client]",
        file.empty() ? "" : " in " + file.string()));
  const bool is_http = host.starts_with("http://") || host.starts_with("https://");
  if (!is_http || host.ends_with("://") || host.find_first_of("?#@ \t") != std::string::npos)
    throw user_error(
        fmt::format("[rucio] {}: '{}' is no server's address; write http(s)://HOST[:PORT]", file.string(), host));
  return host;
}

std::string user_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user == nullptr ? std::to_string(::geteuid()) : user->pw_name;
}

}  // namespace

Access find_access(const Environment& environment) {
  const fs::path file = config_file(environment);
  const IniSection client = read_ini_section(file, "client").value_or(IniSection());
  const auto of = [&](const char* name) { return value_in(client, name); };
  Access access;
  access.host = checked_host(of("rucio_host"), file);
  access.auth_host = checked_host(first_of({of("auth_host"), access.host}), file);
  access.account = first_of({environment("RUCIO_ACCOUNT"), of("account")});
  access.vo = first_of({environment("RUCIO_VO"), of("vo")});
  access.auth_type = first_of({environment("RUCIO_AUTH_TYPE"), of("auth_type")});
  access.username = of("username");
  access.password = of("password");
  access.ca_file = of("ca_cert");
  const std::string folder = fmt::format("{}/.rucio_{}{}", first_of({environment("TMPDIR"), "/tmp"}), user_name(),
                                         access.vo.empty() || access.vo == "def" ? "" : "@" + access.vo);
  const std::string usual = access.account.empty() ? "for_default_account" : "for_account_" + access.account;
  access.token_file = first_of({of("auth_token_file_path"), folder + "/auth_token_" + usual});
  return access;
}

}  // namespace linac::storage::rucio
