#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/base64.h"
#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/text_table.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/secret_names.h"
#include "linac/cli/common/secret_input.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

using nlohmann::json;

constexpr size_t kBytesMax = 64 << 10;
constexpr const char* kPath = "/api/v1/secrets";

struct SecretOptions {
  ServiceOptions service;
  std::string name, file, as;
  bool drop = false;
};

std::string kind_of(const SecretOptions& options) {
  if (!options.as.empty()) return options.as;
  return job::names_a_file(options.name) ? "file" : "env";
}

// The end of a line is that of a terminal or a program, and not of a variable; a file stays as it is.
std::string value_of(const SecretOptions& options) {
  std::string value =
      options.file.empty() ? secret_input(options.name, kBytesMax) : secret_file(options.file, kBytesMax);
  if (kind_of(options) == "file") return value;
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  return value;
}

std::string path_of(const SecretOptions& options) {
  return fmt::format("{}/{}", kPath, percent_encoded(options.name));
}

void set(const SecretOptions& options) {
  if (const std::string why = job::why_no_secret_name(options.name); !why.empty())
    throw user_error(fmt::format("[secrets] '{}': {}", printable(options.name), why));
  const std::string value = value_of(options);
  if (value.empty()) throw user_error("[secrets] the value is empty; `linac secrets remove` takes a secret away");
  const json body = {{"value_base64", base64(value)}, {"as", kind_of(options)}};
  client::ServiceClient service = options.service.connect();
  const json answer = service.put(path_of(options), body);
  if (options.service.json)
    fmt::print("{}\n", answer.dump(2));
  else
    fmt::print("{}: kept for your jobs, as {}\n", options.name,
               answer.at("as") == "file" ? "a file whose path the variable has" : "a variable");
}

void list(const SecretOptions& options) {
  client::ServiceClient service = options.service.connect();
  const json answer = service.get(kPath);
  if (options.service.json) {
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  std::vector<std::vector<std::string>> rows{{"NAME", "AS", "SET", "LAST USED", ""}};
  for (const json& one : answer.at("secrets")) {
    const int64_t used = one.at("used_ms");
    rows.push_back({one.at("name"), one.at("as"), client::time_words(one.at("changed_ms")),
                    used == 0 ? "never" : client::time_words(used),
                    one.at("readable").get<bool>() ? "" : "does not open: set it again"});
  }
  fmt::print("{}", lined_up(rows));
}

void remove(const SecretOptions& options) {
  client::ServiceClient service = options.service.connect();
  const json answer = service.remove(path_of(options));
  if (options.service.json)
    fmt::print("{}\n", answer.dump(2));
  else
    fmt::print("{}: removed\n", options.name);
}

void rotate(const SecretOptions& options) {
  client::ServiceClient service = options.service.connect();
  const json answer = service.post(fmt::format("{}/rotate-key", kPath), {{"drop_unreadable", options.drop}});
  if (options.service.json) {
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  fmt::print("{} secrets are sealed with a new key", answer.at("count").get<int64_t>());
  const auto dropped = answer.at("dropped").get<int64_t>();
  fmt::print("{}\n", dropped == 0 ? "" : fmt::format("; {} that did not open are gone", dropped));
}

CLI::App* add(CLI::App& secrets, const char* name, const char* help, std::shared_ptr<SecretOptions> options,
              void (*run)(const SecretOptions&)) {
  auto* verb = secrets.add_subcommand(name, help);
  add_service_options(*verb, options->service);
  verb->callback([options, run] { run(*options); });
  return verb;
}

}  // namespace

void add_secrets_verb(CLI::App& app) {
  auto* secrets = app.add_subcommand("secrets", "Keys that your jobs at a service read data with");
  secrets->require_subcommand(1);
  auto options = std::make_shared<SecretOptions>();
  auto* verb = add(*secrets, "set", "Keeps one; the value comes from standard input, or a file", options, set);
  verb->add_option("name", options->name, "of the variable, e.g. AWS_SECRET_ACCESS_KEY")->required();
  verb->add_option("--file", options->file, "that has the value (default: standard input)");
  verb->add_option("--as", options->as,
                   "env: a variable, or file: a file whose path the variable has (default: by the name)")
      ->check(CLI::IsMember({"env", "file"}));
  add(*secrets, "list", "Names, kinds and dates; no value is ever told", options, list);
  verb = add(*secrets, "remove", "Forgets one", options, remove);
  verb->add_option("name", options->name, "of the variable")->required();
  verb = add(*secrets, "rotate-key", "Admins: a new key of the service seals the secrets of all", options, rotate);
  verb->add_flag("--drop-unreadable", options->drop, "secrets that do not open any longer, as their key is lost, go");
  secrets->footer(
      "Examples:\n"
      "  linac secrets set AWS_SECRET_ACCESS_KEY                  # asks for it\n"
      "  linac secrets set X509_USER_PROXY --file /tmp/x509up_u1000\n"
      "  linac secrets list\n"
      "  linac submit job.yaml --secrets AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY");
}

}  // namespace linac::cli
