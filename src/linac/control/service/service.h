#pragma once
// `linac serve`: the catalog over HTTP.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace linac::service {

struct ServiceOptions {
  std::filesystem::path data = "linac-data";       // catalog (SQLite), artefacts, uploads
  std::string database;                            // "postgresql://..."; empty: SQLite in `data`
  std::string listen = "127.0.0.1:5000";           // port 0: a free one; not used if it was given a socket
  std::filesystem::path tls_certificate, tls_key;  // PEM
  bool authentication = true;
  std::string visibility = "private";        // or "shared": of new experiments and models
  std::vector<std::string> artifact_stores;  // "s3://bucket/folder": where artefacts may lie, beside the service's own
  std::vector<std::string> hosts;            // further names by which clients may call the service
  std::vector<std::string> trusted_proxies;  // whose X-Forwarded-For is believed
  int threads = 0;                           // for connections; 0: as many as cores, at most 4
  int connections_max = 4096;                // a quarter of them of one address
  int64_t keep_free = int64_t{1} << 30;      // bytes of the disk that uploads and jobs do not get
  double requests_per_s_max = 20000;         // of one caller
  std::string slots;            // what jobs may have, e.g. "cores=8,memory=32G,gpus=2"; empty: the whole host
  int64_t lease_s = 120;        // after which an agent that is not heard of has lost its jobs
  std::filesystem::path sites;  // file that declares sites for the queue (declared_sites.h); empty: none
  bool trust_jobs = false;      // they run without a sandbox
  std::string prices;           // as execution::Prices::of_text() takes them; empty: not known
};

/// The running service. Not to be destroyed by one of its own threads. Errors of the constructor: user error for an
/// address that is not loopback without TLS (or authentication), for a certificate or a database that cannot be used;
/// environment error for an address or a folder that cannot be had.
class Service {
 public:
  explicit Service(const ServiceOptions& options);
  ~Service();  // finishes what it has begun

  const std::string& url() const;
  /// What an admin has to know of the jobs' sandbox, in a line; empty if all of them have one.
  const std::string& warning() const;
  /// What control groups of jobs hold here.
  std::string on_groups() const;
  /// Of the user "admin", if this start made him; empty else.
  const std::string& first_token() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Runs a Service until SIGINT or SIGTERM; says on standard output where it is, and once the first token.
void serve(const ServiceOptions& options);

}  // namespace linac::service
