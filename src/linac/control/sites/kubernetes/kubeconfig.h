#pragma once
// How a cluster of Kubernetes is reached, and as whom: the user's kubeconfig files, as kubectl reads them, or the
// account that a pod has. Functions that may be called by several threads at the same time; an exec plug-in is started
// anew by each call.

#include <string>

namespace linac::sites {

struct KubeAccess {
  std::string server;  // "https://10.0.0.1:6443", without a slash at its end
  std::string ca_pem;  // whom to trust; empty: the system's
  std::string token;   // of a bearer; or
  std::string client_cert_pem, client_key_pem;
  std::string name_space;  // of the context, or of the pod's account; empty: nobody says
  std::string from;        // for people: "context farm of /home/me/.kube/config"
};

/// `file`: empty for the files of KUBECONFIG, else ~/.kube/config, else the account of the pod that this runs in.
/// `context`: empty for the current one. User error for what is not there or not understood; environment error if a
/// file cannot be read or a plug-in fails.
KubeAccess find_access(const std::string& file, const std::string& context);

/// What a plug-in for credentials has printed (ExecCredential of client.authentication.k8s.io/v1) put into `access`.
/// User error that begins with `place` for anything else.
void take_exec_credential(const std::string& said, const std::string& place, KubeAccess& access);

}  // namespace linac::sites
