#pragma once
// TF_CONFIG, by which Kubeflow and other launchers of TensorFlow jobs tell a process its place. Pure, thread-safe.

#include <string>

#include "linac/train/comm/meeting/rendezvous.h"

namespace linac::comm {

/// `json`: {"cluster": {"chief": ["host:port"], "worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}.
/// Ranks: chief (or "master") first, then the workers; rank 0's host:port is where the group meets. Parameter servers
/// and evaluators have no work in linac: such a task is a user error, their lists are ignored by the others. User
/// errors name TF_CONFIG and the part that is wrong.
Rendezvous rendezvous_from_tf_config(const std::string& json);

}  // namespace linac::comm
