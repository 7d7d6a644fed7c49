# A generator of showers that is trained in a moment, its showers, and events of an ntuple.
cat >job.yaml <<END
name: showers
model: {kind: cell_chain, geometry: examples/geometry/clic-ecal.yaml, hidden: 8, layer_hidden: 8}
data: {train: [data/showers-train.h5], test: [data/showers-test.h5], fields: {image: ECAL, energy: energy, angle: theta}, threshold: 0}
train: {epochs: 1, replicas: 4, batch: 1, optimizer: {name: adam, lr: 2.0e-3}}
END
cp data/showers-test.h5 data/part-1.h5
cat >make.py <<END
import os, awkward as ak, numpy as np, pyarrow as pa, pyarrow.parquet as pq, uproot
for folder in ("ntuples", "events", "train", "test"):
    os.mkdir(folder)
random = np.random.default_rng(1)
def columns(count):
    return {"pt": random.exponential(30, count).astype("f4"), "eta": random.normal(size=count).astype("f4"), "label": random.integers(0, 2, count)}
for part in ("1", "2"):
    jets = [random.exponential(30, n).tolist() for n in random.poisson(3, 500)]
    numbers = {"run": np.repeat(int(part), 500), "event": np.arange(500)}
    pq.write_table(pa.table(columns(500) | numbers | {"jets_pt": pa.array(jets, pa.list_(pa.float32()))}), f"events/part-{part}.parquet")
    with uproot.recreate(f"ntuples/run-{part}.root") as file:
        file["events"] = columns(500)
for folder in ("train", "test"):
    pq.write_table(pa.table(columns(300) | {"event_number": np.arange(300)}), f"{folder}/part-1.parquet")
with uproot.recreate("events.root") as file:
    file["events"] = {"met": random.exponential(30, 50), "Jet_pt": ak.Array([[30.0, 20.0]] * 50)}
END
python make.py
linac data convert 'events/*.parquet' events/jets.tfrecord
