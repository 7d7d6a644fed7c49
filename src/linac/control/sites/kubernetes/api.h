#pragma once
// The REST interface of one cluster. One thread an object.

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "linac/control/sites/kubernetes/kubeconfig.h"
#include "linac/io/net/http_client.h"

namespace linac::sites {

class KubernetesApi {
 public:
  /// `place`: what errors begin with.
  KubernetesApi(KubeAccess access, std::string place);

  const KubeAccess& access() const { return access_; }

  struct Answer {
    int status = 0;
    nlohmann::json body;
    std::string warning;  // what the server has to say although it did it
    bool good() const { return status >= 200 && status < 300; }
  };
  /// Asks again for a while where that may help. An answer of any status but 401; environment error if there is none,
  /// or if it does not know us.
  Answer ask(const std::string& method, const std::string& path, const nlohmann::json* body = nullptr);
  /// The same; environment error with the server's words unless it is done, or has one of the statuses `also`.
  Answer need(const std::string& what, const std::string& method, const std::string& path,
              const nlohmann::json* body = nullptr, const std::vector<int>& also = {});
  /// All items of a list, which the server gives in parts.
  std::vector<nlohmann::json> list(const std::string& what, const std::string& path, const std::string& query);
  /// A body that is no JSON, as it comes, until `take` returns false. The status.
  int read(const std::string& path, const std::function<bool(std::string_view bytes)>& take);

 private:
  net::HttpRequest request(const std::string& method, const std::string& path) const;
  Error no_answer(const net::HttpAnswer& answer) const;
  Error not_known() const;

  const KubeAccess access_;
  const std::string place_;
  net::HttpClient client_;
};

/// A part of a path or query.
std::string in_url(std::string_view text);

}  // namespace linac::sites
