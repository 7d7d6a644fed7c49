#!/usr/bin/env python3
"""The Inclusive Classifier trained by linac and by Keras: the same start (a .keras file that Keras made), events, scaling, batch size,
optimiser and epochs; then both models' predictions on the test part, judged together by `linac evaluate`.

  bench/topology.py --data DIR [--epochs 12] [--out FOLDER]

DIR holds train/*.parquet, test/*.parquet and scaling.json (columns GRU_input, HLF_input, encoded_label). Writes FOLDER/linac (the
run), FOLDER/report (both models' curves) and FOLDER/topology.json (the figures). Needs bench/peers/setup.sh and pyarrow."""

import argparse
import json
import os
import pathlib
import subprocess
import time

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINAC = str(pathlib.Path(os.environ.get("LINAC", ROOT / "build" / "linac")).resolve())
PARTICLES, BATCH, RATE = 801, 128, 1e-3


def arrays(files: list, scaling: dict):
    import numpy as np
    import pyarrow.parquet as parquet

    low, high = (np.array(scaling["HLF_input"][key], "f4") for key in ("min", "max"))
    mean, std = (np.array(scaling["GRU_input"][key], "f4") for key in ("mean", "std"))
    particles, features, labels = [], [], []
    for file in files:
        table = parquet.read_table(file)
        features.append((np.array(table["HLF_input"].to_pylist(), "f4") - low) / (high - low))
        labels.append(np.array(table["encoded_label"].to_pylist(), "f4"))
        for event in table["GRU_input"].to_pylist():
            padded = np.zeros((PARTICLES, 19), "f4")
            padded[: len(event)] = (np.array(event, "f4") - mean) / std
            particles.append(padded)
    return np.stack(particles), np.concatenate(features), np.concatenate(labels)


def classifier():
    import keras

    L = keras.layers
    particles, features = keras.Input((PARTICLES, 19), name="GRU_input"), keras.Input((14,), name="HLF_input")
    read = L.Dropout(0.2)(L.GRU(50, name="gru")(L.Masking(0.0)(particles)))
    x = L.Dense(25, activation="relu")(L.Concatenate()([read, features]))
    return keras.Model([particles, features], L.Dense(3, activation="softmax", name="label")(x))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "topology")
    args = parser.parse_args()
    import h5py
    import keras

    args.out.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(args.seed)
    model = classifier()
    model.compile(optimizer=keras.optimizers.Adam(RATE), loss="categorical_crossentropy", metrics=["accuracy"])
    start = args.out / "start.keras"
    model.save(start)
    job = {
        "name": "topology",
        "model": {"kind": "keras", "file": str(start)},
        "data": {
            "train": [str(args.data / "train" / "*.parquet")],
            "test": [str(args.data / "test" / "*.parquet")],
            "inputs": [{"name": "GRU_input", "scaling": "standard"}, {"name": "HLF_input", "scaling": "min_max"}],
            "targets": [{"column": "encoded_label"}],
            "scaling": str(args.data / "scaling.json"),
            "classes": ["QCD", "ttbar", "W+jets"],
        },
        "train": {"epochs": args.epochs, "replicas": 2, "batch": BATCH // 2, "seed": args.seed, "fit": {"metrics": ["accuracy", "auc"]},
                  "optimizer": {"name": "adam", "lr": RATE}},
        "workers": 2,
    }
    (args.out / "job.yaml").write_text(json.dumps(job, indent=1))
    run, scores = args.out / "linac", args.out / "linac.h5"
    subprocess.run(["rm", "-rf", str(run)], check=True)
    begin = time.monotonic()
    subprocess.run([LINAC, "train", str(args.out / "job.yaml"), "--out", str(run)], check=True)
    seconds = {"linac": time.monotonic() - begin}
    subprocess.run([LINAC, "predict", "--model", str(run), "--data", str(args.data / "test" / "*.parquet"), "--out", str(scores)], check=True)

    scaling = json.loads((args.data / "scaling.json").read_text())
    *inputs, labels = arrays(sorted((args.data / "train").glob("*.parquet")), scaling)
    *test_inputs, test_labels = arrays(sorted((args.data / "test").glob("*.parquet")), scaling)
    begin = time.monotonic()
    history = model.fit(inputs, labels, batch_size=BATCH, epochs=args.epochs, verbose=2,
                        validation_data=(test_inputs, test_labels)).history
    seconds["keras"] = time.monotonic() - begin
    with h5py.File(args.out / "keras.h5", "w") as file:
        file["label"] = model.predict(test_inputs, verbose=0)
    with h5py.File(args.out / "labels.h5", "w") as file:
        file["encoded_label"] = test_labels
    with h5py.File(scores) as file:
        name = list(file)[0]
    subprocess.run([LINAC, "evaluate", "--predictions", f"linac.h5:{name}", "--compare", "keras.h5:label", "--names", "linac,Keras", "--targets",
                    "labels.h5:encoded_label", "--classes", "QCD,ttbar,W+jets", "--out", "report"], check=True, cwd=args.out)
    report = json.loads((args.out / "report" / "report.json").read_text())
    result = {"command": f"bench/topology.py --data DIR --epochs {args.epochs} --seed {args.seed}", "date": time.strftime("%Y-%m-%d"), "train_events": len(labels), "test_events": len(test_labels),
              "epochs": args.epochs, "seconds": seconds, "keras_history": history, "models": report["models"], "difference": report["difference"]}
    (args.out / "topology.json").write_text(json.dumps(result, indent=1))
    print(json.dumps(seconds))


main()
