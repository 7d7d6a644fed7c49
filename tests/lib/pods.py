"""Launches whose workers are real pods."""

import pathlib
import shutil

from . import launches
from .runs import ROOT, SMALL_CLASSIFIER
from .servers.kubelet import IMAGE, VERSION, Kubelet

IMAGE_FILE = ROOT / f"build/packages/linac-{VERSION}-oci.tar"


def why_no_pods(image: pathlib.Path) -> str:
    return Kubelet.missing() or ("" if image.is_file() else f"no image {image} (make image)")


def running(cluster: Kubelet, label: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in cluster.pods(label)
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]


def prepared(root: pathlib.Path) -> dict:
    """Settings of a job whose data lie where pods see them: in the folder of runs."""
    (root / "runs").mkdir()
    for name in ("train.parquet", "test.parquet", "scaling.json"):
        shutil.copy(ROOT / "data" / f"topology-{name}", root / "runs" / name)
    at_full_size = {key: value for key, value in launches.SETTINGS.items() if key not in SMALL_CLASSIFIER}  # nothing else makes a step last there
    return at_full_size | {"data.train": f"[{root}/runs/train.parquet]", "data.test": f"[{root}/runs/test.parquet]",
                           "data.scaling": f"{root}/runs/scaling.json"}


def sites_of(cluster: Kubelet, root: pathlib.Path) -> dict:
    site = {"kind": "kubernetes", "image": IMAGE, "image_pull_policy": "Never", "folder": f"{root}/runs", "volume": f"hostPath:{root}/runs",
            "notice": "20s", "kubeconfig": f"{cluster.folder}/own.kubeconfig"}
    return {"k8s": site, "secret": site | {"secrets": {"STORE_KEY": "store/key"}}, "absent": site | {"image": "docker.io/local/absent:1"},
            "starved": site | {"memory": "24Mi"}}
