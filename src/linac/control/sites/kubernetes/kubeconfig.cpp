#include "linac/control/sites/kubernetes/kubeconfig.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/base64.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/shell.h"

namespace linac::sites {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr const char* kExecVersion = "client.authentication.k8s.io/v1";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// An entry of a list of named things, and the file that has it: relative paths count from there.
struct Entry {
  YAML::Node node;  // undefined if there is none
  fs::path file;
};

class Kubeconfig {
 public:
  /// Of several files the first that has a name has the word, as kubectl does it.
  explicit Kubeconfig(const std::vector<fs::path>& files) {
    for (const fs::path& file : files) {
      if (!fs::is_regular_file(file)) throw user_error(fmt::format("[kubeconfig] {}: is no file", file.string()));
      YAML::Node root = config::parse_text(read_file(file), file.string());
      if (!root.IsNull() && !root.IsMap())
        throw user_error(fmt::format("[kubeconfig] {}: no map of clusters, users and contexts", file.string()));
      files_.push_back({root, file});
    }
  }

  std::string current_context() const {
    for (const Entry& file : files_)
      if (const std::string name = text(file.node, "current-context"); !name.empty()) return name;
    return "";
  }

  /// `list`: "clusters", of which each has a name and its `what`, "cluster".
  Entry find(const std::string& list, const std::string& what, const std::string& name) const {
    std::vector<std::string> names;
    for (const Entry& file : files_) {
      const YAML::Node all = file.node.IsMap() ? file.node[list] : YAML::Node();
      if (!all || !all.IsSequence()) continue;
      for (const YAML::Node& entry : all) {
        names.push_back(text(entry, "name"));
        if (names.back() == name && entry[what] && entry[what].IsMap()) return {entry[what], file.file};
      }
    }
    const auto near = nearest(name, names);
    throw user_error(fmt::format("[kubeconfig] {}: no {} '{}'{}", files_.front().file.string(), what, printable(name),
                                 near ? fmt::format("; did you mean {}?", printable(*near)) : ""));
  }

  static std::string text(const YAML::Node& map, const std::string& key) {
    return map.IsMap() && map[key] && map[key].IsScalar() ? map[key].as<std::string>() : "";
  }

 private:
  std::vector<Entry> files_;
};

std::string decoded(std::string text, const std::string& place) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  const auto bytes = base64_decoded(text);
  if (!bytes || bytes->empty()) throw user_error(place + ": is no base64");
  return *bytes;
}

// Of `key`-data, else of the file that `key` names.
std::string pem_of(const Entry& entry, const std::string& key) {
  const std::string data = Kubeconfig::text(entry.node, key + "-data"), file = Kubeconfig::text(entry.node, key);
  if (!data.empty()) return decoded(data, fmt::format("[kubeconfig] {}: {}-data", entry.file.string(), key));
  return file.empty() ? "" : read_file(entry.file.parent_path() / file);
}

std::string without_blanks(std::string text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

// A program that the file names, e.g. of a cloud, says who we are.
void ask_plugin(const Entry& user, KubeAccess& access) {
  const YAML::Node exec = user.node["exec"];
  const std::string place = fmt::format("[kubeconfig] {}: exec", user.file.string());
  const std::string version = Kubeconfig::text(exec, "apiVersion");
  std::string command = Kubeconfig::text(exec, "command");
  if (version != kExecVersion)
    throw user_error(
        fmt::format("{}.apiVersion: '{}' is not {}; write the kubeconfig anew with a newer version of "
                    "your cloud's program",
                    place, printable(version), kExecVersion));
  if (command.empty()) throw user_error(place + ".command: empty");
  if (command.find('/') != std::string::npos) command = (user.file.parent_path() / command).string();
  json info{{"apiVersion", version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}};
  if (Kubeconfig::text(exec, "provideClusterInfo") == "true") info["spec"]["cluster"] = {{"server", access.server}};
  std::string script = "export KUBERNETES_EXEC_INFO=" + shell_word(info.dump()) + "\n";
  if (exec["env"] && exec["env"].IsSequence()) {
    for (const YAML::Node& entry : exec["env"]) {
      const std::string name = Kubeconfig::text(entry, "name");
      if (name.empty() || name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
                              std::string::npos)
        throw user_error(fmt::format("{}.env: '{}' is no name of a variable", place, printable(name)));
      script += fmt::format("export {}={}\n", name, shell_word(Kubeconfig::text(entry, "value")));
    }
  }
  script += "exec " + shell_word(command);
  if (exec["args"] && exec["args"].IsSequence())
    for (const YAML::Node& word : exec["args"]) script += " " + shell_word(word.as<std::string>(""));
  const ShellAnswer answer = Shell().run(script + " </dev/null\n");
  if (answer.status != 0)
    throw environment_error(fmt::format("{}: {} ends with {}: {}", place, printable(command), answer.status,
                                        printable(without_blanks(answer.errors))));
  take_exec_credential(answer.out, place, access);
}

void take_user(const Entry& user, KubeAccess& access) {
  for (const char* gone : {"username", "password", "auth-provider"})
    if (user.node[gone])
      throw user_error(fmt::format("[kubeconfig] {}: {} is no way in any more; use a token, a certificate or exec",
                                   user.file.string(), gone));
  access.token = Kubeconfig::text(user.node, "token");
  if (const std::string file = Kubeconfig::text(user.node, "tokenFile"); !file.empty())
    access.token = without_blanks(read_file(user.file.parent_path() / file));
  access.client_cert_pem = pem_of(user, "client-certificate");
  access.client_key_pem = pem_of(user, "client-key");
  if (user.node["exec"] && access.token.empty() && access.client_cert_pem.empty()) ask_plugin(user, access);
}

KubeAccess access_of_pod() {
  const fs::path folder = kAccountFolder;
  const std::string host = variable("KUBERNETES_SERVICE_HOST"), port = variable("KUBERNETES_SERVICE_PORT");
  KubeAccess access;
  access.server = fmt::format("https://{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]", port);
  access.ca_pem = read_file(folder / "ca.crt");
  access.token = without_blanks(read_file(folder / "token"));
  access.name_space = without_blanks(read_file(folder / "namespace"));
  access.from = "the account of this pod";
  return access;
}

std::vector<fs::path> files_of(const std::string& file) {
  if (!file.empty()) return {file};
  std::vector<fs::path> files;
  const std::string named = variable("KUBECONFIG");
  for (size_t begin = 0; begin < named.size();) {
    const size_t end = std::min(named.find(':', begin), named.size());
    const fs::path one = named.substr(begin, end - begin);
    if (!one.empty() && fs::exists(one)) files.push_back(one);  // kubectl passes by those that are not there
    begin = end + 1;
  }
  if (!named.empty() && files.empty())
    throw user_error(fmt::format("[kubeconfig] KUBECONFIG={}: no such file", printable(named)));
  const std::string home = variable("HOME");
  if (files.empty() && !home.empty() && fs::exists(fs::path(home) / ".kube/config"))
    files.push_back(fs::path(home) / ".kube/config");
  return files;
}

}  // namespace

void take_exec_credential(const std::string& said, const std::string& place, KubeAccess& access) {
  const json credential = json::parse(said, nullptr, false);
  const json status = credential.is_object() ? credential.value("status", json()) : json();
  if (!status.is_object() || credential.value("kind", json()) != "ExecCredential")
    throw user_error(place + ": it prints no ExecCredential with a status");
  const auto text = [&](const char* key) {
    const json value = status.value(key, json());
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  access.token = text("token");
  access.client_cert_pem = text("clientCertificateData");
  access.client_key_pem = text("clientKeyData");
  if (access.token.empty() && access.client_cert_pem.empty())
    throw user_error(place + ": it gives neither a token nor a certificate; log in with your cloud's program");
}

KubeAccess find_access(const std::string& file, const std::string& context) {
  const std::vector<fs::path> files = files_of(file);
  if (files.empty()) {
    if (!variable("KUBERNETES_SERVICE_HOST").empty() && context.empty()) return access_of_pod();
    throw user_error(
        "[kubeconfig] neither KUBECONFIG nor ~/.kube/config; set kubeconfig of the site to the file that "
        "your cluster gave you");
  }
  const Kubeconfig all(files);
  const std::string name = context.empty() ? all.current_context() : context;
  if (name.empty())
    throw user_error(fmt::format("[kubeconfig] {}: no current-context; set context of the site", files[0].string()));
  const Entry chosen = all.find("contexts", "context", name);
  const Entry cluster = all.find("clusters", "cluster", Kubeconfig::text(chosen.node, "cluster"));
  KubeAccess access;
  access.from = fmt::format("context {} of {}", printable(name), chosen.file.string());
  access.server = Kubeconfig::text(cluster.node, "server");
  while (access.server.ends_with('/')) access.server.pop_back();
  const std::string place = "[kubeconfig] " + cluster.file.string();
  // What is sent there opens the cluster to whoever hears it.
  if (!access.server.starts_with("https://"))
    throw user_error(fmt::format("{}: server: '{}' is no address https://", place, printable(access.server)));
  if (Kubeconfig::text(cluster.node, "insecure-skip-tls-verify") == "true")
    throw user_error(place +
                     ": insecure-skip-tls-verify gives your credentials to anybody on the way; name the "
                     "cluster's certificate-authority instead");
  for (const char* other : {"tls-server-name", "proxy-url"})
    if (cluster.node[other]) throw user_error(fmt::format("{}: {} is not understood here", place, other));
  access.ca_pem = pem_of(cluster, "certificate-authority");
  access.name_space = Kubeconfig::text(chosen.node, "namespace");
  const std::string user = Kubeconfig::text(chosen.node, "user");
  if (!user.empty()) take_user(all.find("users", "user", user), access);
  if (access.token.find_first_of("\r\n") != std::string::npos)
    throw user_error(fmt::format("[kubeconfig] {}: the token has several lines", access.from));
  return access;
}

}  // namespace linac::sites
