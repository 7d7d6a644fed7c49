# A classifier that is trained in a moment.
cat >job.yaml <<END
name: topology
model: {kind: inclusive_classifier, variant: hlf}
data:
  train: [data/topology-train.parquet]
  validation_split: 0.25
  inputs: [{name: HLF_input, column: HLF_input, scaling: min_max}]
  targets: [{column: encoded_label}]
  scaling: data/topology-scaling.json
  classes: [QCD, ttbar, W+jets]
train: {epochs: 1, replicas: 4, batch: 8, fit: {loss: categorical_crossentropy}, optimizer: {name: adam, lr: 2.0e-3}}
END
linac train job.yaml --out runs/topology
cat >make.py <<END
import h5py, keras, numpy as np, uproot
random = np.random.default_rng(1)
label = random.integers(0, 3, 300)
features = (random.normal(size=(300, 4)) + label[:, None]).astype("f4")
with h5py.File("events.h5", "w") as file:
    file["features"], file["encoded_label"], file["label"] = features, np.eye(3, dtype="f4")[label], label
    file["weight"] = random.uniform(0.5, 2, 300).astype("f4")
scores = random.dirichlet((1, 1, 1), 300).astype("f4")
for name in ("linac", "keras"):
    with h5py.File(name + ".h5", "w") as file:
        file["label"] = scores
energy = random.uniform(10, 100, 300)
with h5py.File("energies.h5", "w") as file:
    file["energy"] = (energy + random.normal(size=300)).astype("f4")
with uproot.recreate("events.root") as file:
    file["events"] = {"energy": energy}
keras.Sequential([keras.Input((4,), name="features"), keras.layers.Dense(3, activation="softmax", name="label")]).save("classifier.keras")
END
python make.py
