#pragma once
// What a site of the kind kubernetes needs to be told. A value.

#include <map>
#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

struct KubernetesSettings : CommonSettings {
  std::string kubeconfig, context, name_space = "default";
  std::string image, image_pull_policy = "IfNotPresent", image_pull_secret, service_account;
  std::string volume, cpus, memory, gpu_resource = "nvidia.com/gpu";
  int gpus = 0, user = 0;
  std::map<std::string, std::string> node_selector, secrets;
  std::vector<std::string> tolerations;
  std::string spot, priority_class, queue, time, notice = "120s";
  int restarts = 20, port = 29400;

  template <class V>
  void fields(V& v) {
    common_fields(v);
    v("kubeconfig", kubeconfig,
      "file that says how the cluster is reached; empty: KUBECONFIG, ~/.kube/config, or the account of this pod");
    v("context", context, "of that file; empty: the current one");
    v("namespace", name_space, "where the objects are made");
    v("image", image, "with linac in it, e.g. registry.example.org/calo/linac:1.0 (make image)");
    v("image_pull_policy", image_pull_policy, "Always, IfNotPresent or Never");
    v("image_pull_secret", image_pull_secret, "a Secret that opens the registry");
    v("service_account", service_account, "of the workers, which use no rights of it; empty: the default one");
    v("volume", volume,
      "where folder lies: pvc:CLAIM (many nodes may write) or hostPath:/DISK (all nodes see it); not needed with out");
    v("cpus", cpus, "of each worker, e.g. 16 or 500m; empty: as the namespace gives them");
    v("memory", memory, "of each worker, e.g. 16Gi");
    v("gpus", gpus, "of each worker");
    v("gpu_resource", gpu_resource, "what the cluster calls a GPU");
    v("user", user, "number of the user that the workers are; 0: the image's");
    v("node_selector", node_selector, "labels of nodes, e.g. {cloud.google.com/gke-accelerator: nvidia-h100-80gb}");
    v("tolerations", tolerations, "taints that do not matter, e.g. [nvidia.com/gpu:NoSchedule, pool=calo:NoSchedule]");
    v("spot", spot, "nodes that may be taken away: gke, eks, aks or karpenter; empty: others");
    v("priority_class", priority_class, "a PriorityClass of the cluster");
    v("queue", queue, "a LocalQueue of Kueue, which lets all workers begin together");
    v("secrets", secrets,
      "variables of the workers that are secret: {AWS_SECRET_ACCESS_KEY: NAME/KEY} of a Secret there, or env:VARIABLE "
      "of whoever launches");
    v("time", time, "limit of a launch, e.g. 12h; empty: none");
    v("notice", notice, "so long a worker that has to go may write its checkpoint");
    v("restarts", restarts, "so often a worker that fails is started again; being preempted or evicted does not count");
    v("port", port, "at which the workers meet");
  }
};

/// GiB of "16Gi", "1.5e9" or "500M", as Kubernetes reads an amount; 0 for what is none.
double gib_of_quantity(const std::string& text);

/// User error "[sites] FILE: NAME.field ..." for what cannot be.
void check_kubernetes(KubernetesSettings& settings, const std::string& place);

}  // namespace linac::sites
