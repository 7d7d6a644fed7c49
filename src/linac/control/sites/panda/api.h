#pragma once
// The interface of a PanDA server that panda-client 2.2 uses (api/v1): tasks are submitted, found by name, asked about
// and ended. One thread an object.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/sites/panda/access.h"
#include "linac/io/net/http_client.h"

namespace linac::sites {

class PandaApi {
 public:
  /// `place`: what errors begin with.
  PandaApi(PandaAccess access, std::string place);

  const PandaAccess& access() const { return access_; }

  struct Answer {
    bool success = false;
    int64_t code = -1;  // where the data are a number: why not
    std::string message;
    nlohmann::json data;
  };
  /// Asked again where that may help. Environment error if there is no answer of the server.
  Answer get(const std::string& path, const std::vector<std::pair<std::string, std::string>>& query);
  /// Asked once. Nothing if nobody knows whether it was done: the connection broke, or the server failed.
  std::optional<Answer> post(const std::string& path, const nlohmann::json& body);

  /// What the server knows of tasks of this attribute, "taskName" or "jediTaskID". Environment error.
  std::vector<nlohmann::json> tasks(const std::string& attribute, const std::string& value);

  /// Of the last request that has no answer.
  const std::string& trouble() const { return trouble_; }

 private:
  net::HttpRequest request(const std::string& method, const std::string& path) const;
  std::optional<Answer> answer_of(const net::HttpAnswer& answer);
  Error hopeless(const net::HttpAnswer& answer) const;

  const PandaAccess access_;
  const std::string place_;
  net::HttpClient client_;
  std::string trouble_;
};

}  // namespace linac::sites
