#include "linac/control/client/login.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/user_files.h"

namespace linac::client {
namespace {

using nlohmann::json;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// {"server": last, "tokens": {server: token}}
json kept() {
  const auto file = login_file();
  if (!std::filesystem::exists(file)) return {{"server", ""}, {"tokens", json::object()}};
  const json content = json::parse(read_file(file), nullptr, false);
  if (!content.is_object() || !content.contains("tokens") || !content["tokens"].is_object())
    throw user_error(fmt::format("[login] {}: damaged; remove it and log in again", file.string()));
  return content;
}

void keep(const json& content) {
  const auto file = login_file();
  make_folder(file.parent_path());
  // Made with its mode, before there is anything to read in it.
  const PrivateFiles mine;
  write_file_atomically(file, content.dump(2) + "\n");
}

std::string without_slash(std::string server) {
  while (server.ends_with('/')) server.pop_back();
  if (server.find("://") == std::string::npos) server = "http://" + server;
  if ((!server.starts_with("http://") && !server.starts_with("https://")) || server.find('@') != std::string::npos ||
      server.size() > 2000 || server.find_first_of(" \t\r\n") != std::string::npos) {
    throw user_error(fmt::format("[client] '{}' is no address of a service; expected e.g. {}", server, kDefaultServer));
  }
  return server;
}

}  // namespace

std::filesystem::path login_file() {
  const auto folder = user_folder("XDG_CONFIG_HOME", ".config");
  if (!folder) throw user_error("[login] neither HOME nor XDG_CONFIG_HOME is set; set one, or use LINAC_TOKEN");
  return *folder / "login.json";
}

Login find_login(const std::string& server) {
  Login login;
  login.token = variable("LINAC_TOKEN");
  login.ca_file = variable("LINAC_CA_FILE");
  login.server = server.empty() ? variable("LINAC_SERVER") : server;
  json content = {{"server", ""}, {"tokens", json::object()}};
  if (login.server.empty() || login.token.empty()) {
    if (user_folder("XDG_CONFIG_HOME", ".config")) content = kept();
  }
  if (login.server.empty()) login.server = content.value("server", "");
  if (login.server.empty()) login.server = kDefaultServer;
  login.server = without_slash(login.server);
  if (login.token.empty()) login.token = content["tokens"].value(login.server, "");
  return login;
}

void keep_login(const Login& login) {
  json content = kept();
  content["server"] = login.server;
  content["tokens"][login.server] = login.token;
  keep(content);
}

bool forget_login(const std::string& server) {
  json content = kept();
  if (content["tokens"].erase(server) == 0) return false;
  if (content.value("server", "") == server) content["server"] = "";
  keep(content);
  return true;
}

}  // namespace linac::client
