#!/usr/bin/env python3
"""CPU time of a selection and two computed columns: linac packs the events, pandas and pyarrow read, compute and write
them as Parquet (uncompressed) and, beside it, keep them in memory. In turns, one thread each:
bench/transforms.py LINAC FOLDER OUT.json"""

import json
import os
import pathlib
import resource
import subprocess
import sys

EVENTS, ROUNDS = 2_000_000, 5

MAKE = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
r = np.random.default_rng(1)
n = EVENTS
c = {name: r.exponential(40, n).astype("f4") for name in ("pt", "met")}
c |= {name: r.normal(0, 2, n).astype("f4") for name in ("eta", "phi_a", "phi_b")}
c["label"] = (r.random(n) < 0.3).astype("f4")
pq.write_table(pa.table(c), "FILE", row_group_size=100_000)
"""
PANDAS = """
import numpy as np, pandas as pd
d = pd.read_parquet("FILE").astype("f8")
d = d[(d.pt > 30) & (d.eta.abs() < 2.5)]
d["dphi"] = np.arctan2(np.sin(d.phi_a - d.phi_b), np.cos(d.phi_a - d.phi_b))
d["mt"] = np.sqrt(2 * d.pt * d.met * (1 - np.cos(d.dphi)))
d = d[["dphi", "mt", "met", "label"]].astype("f4")
assert len(d) > 1000
"""
PYARROW = """
import pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
pa.set_cpu_count(1)
t = pq.read_table("FILE", use_threads=False)
d = lambda name: pc.cast(t[name], pa.float64())
t = t.filter(pc.and_(pc.greater(d("pt"), 30), pc.less(pc.abs(d("eta")), 2.5)))
x = pc.subtract(d("phi_a"), d("phi_b"))
dphi = pc.atan2(pc.sin(x), pc.cos(x))
mt = pc.sqrt(pc.multiply(pc.multiply(pc.multiply(2.0, d("pt")), d("met")), pc.subtract(1.0, pc.cos(dphi))))
o = pa.table({"dphi": pc.cast(dphi, pa.float32()), "mt": pc.cast(mt, pa.float32()), "met": t["met"], "label": t["label"]})
assert len(o) > 1000
"""
WRITE = {"pandas": "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.Table.from_pandas(d), 'OUT', compression='none')",
         "pyarrow": "pq.write_table(o, 'OUT', compression='none')"}
JOB = """
data:
  train: [FILE]
  filter: "pt > 30 && abs(eta) < 2.5"
  define:
    dphi: "atan2(sin(phi_a - phi_b), cos(phi_a - phi_b))"
    mt: "sqrt(2 * pt * met * (1 - cos(dphi)))"
  inputs: [{name: x, columns: [dphi, mt, met]}]
  targets: [{column: label}]
model: {kind: inclusive_classifier}
"""


def cpu(command, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    linac, folder, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    folder.mkdir(parents=True, exist_ok=True)
    file, written = folder / "events.parquet", folder / "out.parquet"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "LINAC_CACHE": str(folder / "cache")}
    python = lambda text: [sys.executable, "-c", text.replace("FILE", str(file)).replace("OUT", str(written)).replace("EVENTS", str(EVENTS))]
    subprocess.run(python(MAKE), check=True)
    (folder / "job.yaml").write_text(JOB.replace("FILE", str(file)))
    pack = [linac, "data", "scaling", str(file), "--job", str(folder / "job.yaml"), "--out", str(folder / "s.json")]
    for column in ("dphi", "mt", "met", "label"):
        pack += ["--column", column]
    imports = {"pandas": "import numpy, pandas, pyarrow.parquet", "pyarrow": "import pyarrow.compute, pyarrow.parquet"}
    seconds = {}
    for _ in range(ROUNDS):
        for name, text in (("pandas", PANDAS), ("pyarrow", PYARROW)):
            seconds.setdefault(f"{name}, in memory", []).append(cpu(python(text), environment))
            seconds.setdefault(f"{name}, written", []).append(cpu(python(text + WRITE[name]), environment))
            seconds.setdefault(f"{name}, its import alone", []).append(cpu(python(imports[name]), environment))
        for packed in (folder / "cache" / "tables").glob("*.pack"):
            packed.unlink()
        seconds.setdefault("linac data scaling, packs first", []).append(cpu(pack, environment))
        seconds.setdefault("linac data scaling, packed before", []).append(cpu(pack, environment))
    medians = {name: sorted(times)[ROUNDS // 2] for name, times in seconds.items()}
    result = {"events": EVENTS, "rounds": ROUNDS, "cpu_seconds": seconds, "medians": medians}
    pathlib.Path(out).write_text(json.dumps(result, indent=1) + "\n")
    for name, median in medians.items():
        print(f"{name:34} {median:6.2f} s CPU")


main()
