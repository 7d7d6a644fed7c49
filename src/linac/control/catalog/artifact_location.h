#pragma once
// Where artefacts of an experiment may lie, as its creator says it: at the service, "mlflow-artifacts:/calo/2026", or
// at a store that clients reach by themselves, "s3://bucket/folder". What strangers write here becomes a path at the
// service, so it is looked at where it comes in and where it is used. Thread-safe.

#include <optional>
#include <string>
#include <vector>

namespace linac::catalog {

/// kInvalid for a location that is neither. Empty stands for the service's own choice. At the service a location is
/// clean (safe_path.h), has no encoded characters, does not begin with a number or "models", as the service's own
/// folders do, and has no part "artifacts" or that is the id of a run or model, so that it is in nobody's run.
void check_artifact_location(const std::string& location);

/// Whether it names a server that MLflow's client would send its token to, as it does to any of http, https or
/// mlflow-artifacts: nobody gives others such an address.
bool is_asked_with_a_token(const std::string& uri);

/// Where the artefacts of `path`, a run or "models/ID" of an experiment at `location`, lie; empty: with the service.
std::string artifacts_of(int64_t experiment, const std::string& location, const std::string& path);

/// kInvalid for a place that is neither the service's nor of one of `stores`, which are prefixes that end with a part
/// of the path: what the service hands out as an address, its clients go to. Empty, runs:/ and models:/ are the
/// service's.
void check_store(const std::string& uri, const std::vector<std::string>& stores);
/// User error for a prefix that no location could begin with.
void check_stores(const std::vector<std::string>& stores);

/// The path of an artefact URI below the service's folder of artefacts; nothing for one that lies elsewhere (s3://,
/// file:/), or that is no clean path.
std::optional<std::string> own_artifacts(const std::string& uri);

}  // namespace linac::catalog
