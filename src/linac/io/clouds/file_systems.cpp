#include "linac/io/clouds/file_systems.h"

#include <arrow/filesystem/azurefs.h>
#include <arrow/filesystem/gcsfs.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/base/base/error.h"
#include "linac/io/storage/user_settings.h"

namespace linac::clouds {
namespace {

using storage::first_of;
using storage::from_environment;
using storage::is_yes;

constexpr double kRetries_s = 60;

template <class T>
T value_of(arrow::Result<T> result, const char* scheme) {
  if (result.ok()) return std::move(result).ValueUnsafe();
  throw user_error(fmt::format("[{}] {}; check the variables that name account and keys (docs/guide/data.md)", scheme,
                               result.status().message()));
}

void need(const arrow::Status& status, const char* scheme) {
  if (!status.ok()) value_of(arrow::Result<int>(status), scheme);
}

struct Endpoint {
  std::string scheme, rest;
};
Endpoint endpoint_of(std::string text, const char* variable) {
  while (text.ends_with('/')) text.pop_back();
  const size_t colon = text.find("://");
  Endpoint endpoint{colon == std::string::npos ? "http" : text.substr(0, colon),
                    colon == std::string::npos ? text : text.substr(colon + 3)};
  if ((endpoint.scheme != "http" && endpoint.scheme != "https") || endpoint.rest.empty())
    throw user_error(fmt::format("{}={}: no endpoint; write http(s)://HOST[:PORT]", variable, text));
  return endpoint;
}

/// "A=b;C=d=="
std::map<std::string, std::string> parts_of(const std::string& connection) {
  std::map<std::string, std::string> parts;
  for (size_t begin = 0; begin < connection.size();) {
    const size_t end = std::min(connection.find(';', begin), connection.size());
    const std::string part = connection.substr(begin, end - begin);
    const size_t sign = part.find('=');
    if (sign != std::string::npos) parts[part.substr(0, sign)] = part.substr(sign + 1);
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Cloud open_google() {
  const std::string emulator =
      first_of({from_environment("STORAGE_EMULATOR_HOST"), from_environment("CLOUD_STORAGE_EMULATOR_ENDPOINT")});
  const bool anonymous = is_yes(from_environment("GS_NO_SIGN_REQUEST")) || !emulator.empty();
  arrow::fs::GcsOptions options = anonymous ? arrow::fs::GcsOptions::Anonymous() : arrow::fs::GcsOptions::Defaults();
  if (!emulator.empty()) {
    const Endpoint endpoint = endpoint_of(emulator, "STORAGE_EMULATOR_HOST");
    options.scheme = endpoint.scheme;
    options.endpoint_override = endpoint.rest;
  }
  options.retry_limit_seconds = kRetries_s;
  return {.scheme = "gs",
          .files = value_of(arrow::fs::GcsFileSystem::Make(options), "gs"),
          .secrets = {},
          .endpoint = emulator,
          .writes_at_close = true,
          .knows_folders = false};
}

Cloud open_azure() {
  const auto connection = parts_of(from_environment("AZURE_STORAGE_CONNECTION_STRING"));
  const auto of = [&](const char* name) { return storage::value_in(connection, name); };
  arrow::fs::AzureOptions options;
  options.background_writes = false;  // one part after the other, so that a failed one ends the upload
  options.account_name = first_of({of("AccountName"), from_environment("AZURE_STORAGE_ACCOUNT")});
  if (options.account_name.empty())
    throw user_error(
        "[az] no account is named; set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY, or "
        "AZURE_STORAGE_CONNECTION_STRING");
  if (const std::string blobs = of("BlobEndpoint"); !blobs.empty()) {
    Endpoint endpoint = endpoint_of(blobs, "BlobEndpoint");
    // Arrow writes the account behind a host without one.
    if (endpoint.rest.ends_with("/" + options.account_name))
      endpoint.rest.resize(endpoint.rest.size() - options.account_name.size() - 1);
    else if (endpoint.rest.starts_with(options.account_name + "."))
      endpoint.rest.erase(0, options.account_name.size());
    options.blob_storage_scheme = options.dfs_storage_scheme = endpoint.scheme;
    options.blob_storage_authority = options.dfs_storage_authority = endpoint.rest;
  }
  const std::string key = first_of({of("AccountKey"), from_environment("AZURE_STORAGE_KEY")});
  std::string token = first_of({of("SharedAccessSignature"), from_environment("AZURE_STORAGE_SAS_TOKEN")});
  if (token.starts_with('?')) token.erase(0, 1);
  if (is_yes(from_environment("AZURE_NO_SIGN_REQUEST")))
    need(options.ConfigureAnonymousCredential(), "az");
  else if (!key.empty())
    need(options.ConfigureAccountKeyCredential(key), "az");
  else if (!token.empty())
    need(options.ConfigureSASCredential(token), "az");
  else
    need(options.ConfigureDefaultCredential(), "az");
  return {.scheme = "az",
          .files = value_of(arrow::fs::AzureFileSystem::Make(options), "az"),
          .secrets = {key, token},
          .endpoint = options.blob_storage_authority + " " + options.account_name,
          .writes_at_close = false};
}

}  // namespace linac::clouds
