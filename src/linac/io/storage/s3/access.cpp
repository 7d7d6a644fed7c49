#include "linac/io/storage/s3/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "linac/base/base/error.h"

namespace linac::storage::s3 {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRegionDefault = "us-east-1";

/// What both files say of a profile; keys in the file of credentials come first.
IniSection read_profile(const Environment& environment) {
  const std::string wanted = environment("AWS_PROFILE");
  const std::string name = wanted.empty() ? "default" : wanted;
  const auto file = [&](const char* variable, const char* usual) {
    const std::string named = environment(variable);
    return named.empty() ? fs::path(environment("HOME")) / ".aws" / usual : fs::path(named);
  };
  const auto keys = read_ini_section(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name);
  const auto settings =
      read_ini_section(file("AWS_CONFIG_FILE", "config"), name == "default" ? name : "profile " + name);
  if (!keys && !settings && !wanted.empty()) {
    throw user_error(
        fmt::format("[s3] AWS_PROFILE={}: there is no such profile in ~/.aws/credentials or ~/.aws/config", wanted));
  }
  IniSection profile = keys.value_or(IniSection());
  if (settings) profile.insert(settings->begin(), settings->end());
  return profile;
}

bool is_amazons(const std::string& endpoint) {
  const size_t begin = endpoint.find("://") + 3;
  const std::string host = endpoint.substr(begin, endpoint.find_first_of(":/", begin) - begin);
  return host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
}

std::string checked_endpoint(std::string endpoint, const Environment& environment) {
  if (endpoint.find("://") == std::string::npos) {
    const std::string https = environment("S3_USE_HTTPS");
    endpoint = (https == "0" ? "http://" : "https://") + endpoint;
  }
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool is_http = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  if (endpoint.find('@') != std::string::npos)
    throw user_error("[s3] the endpoint has keys in it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead");
  if (!is_http || endpoint.ends_with("://") || endpoint.find_first_of("?# \t\r\n") != std::string::npos)
    throw user_error(fmt::format("[s3] {}: no endpoint; set AWS_ENDPOINT_URL to http(s)://HOST[:PORT]", endpoint));
  return endpoint;
}

std::optional<net::AwsKeys> keys_of(const Environment& environment, const IniSection& profile,
                                    const std::string& region) {
  if (is_yes(environment("AWS_NO_SIGN_REQUEST"))) return std::nullopt;
  const auto of = [&](const char* name) { return value_in(profile, name); };
  net::AwsKeys keys{region, environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                    environment("AWS_SESSION_TOKEN")};
  if (keys.id.empty() != keys.secret.empty()) {
    throw user_error(fmt::format("[s3] {} is set and {} is not; set both or none",
                                 keys.id.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID",
                                 keys.id.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"));
  }
  if (keys.id.empty()) keys = {region, of("aws_access_key_id"), of("aws_secret_access_key"), of("aws_session_token")};
  for (const std::string& part : {keys.id, keys.secret, keys.session_token}) {
    if (std::any_of(part.begin(), part.end(), [](unsigned char c) { return c <= ' ' || c > '~'; }))
      throw user_error("[s3] a key or the session token has a space or a line break in it; set it anew");
  }
  if (!keys.id.empty() && !keys.secret.empty()) return keys;
  for (const char* other : {"role_arn", "sso_session", "sso_start_url", "credential_process"}) {
    if (!of(other).empty()) {
      throw user_error(
          fmt::format("[s3] the profile gets its keys by {}, which linac does not read; export them first: "
                      "eval \"$(aws configure export-credentials --format env)\"",
                      other));
    }
  }
  return std::nullopt;
}

}  // namespace

Access find_access(const Environment& environment) {
  const IniSection profile = read_profile(environment);
  const auto of = [&](const char* name) { return value_in(profile, name); };
  Access access;
  access.region =
      first_of({environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), of("region"), kRegionDefault});
  if (!std::all_of(access.region.begin(), access.region.end(),
                   [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; }))
    throw user_error(fmt::format("[s3] AWS_REGION={}: no name of a region", access.region));
  const std::string endpoint = first_of({environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"),
                                         environment("S3_ENDPOINT"), of("endpoint_url")});
  access.endpoint = endpoint.empty() ? fmt::format("https://s3.{}.amazonaws.com{}", access.region,
                                                   access.region.starts_with("cn-") ? ".cn" : "")
                                     : checked_endpoint(endpoint, environment);
  access.bucket_in_host = is_amazons(access.endpoint);
  access.keys = keys_of(environment, profile, access.region);
  access.ca_file = first_of({environment("AWS_CA_BUNDLE"), of("ca_bundle")});
  return access;
}

}  // namespace linac::storage::s3
