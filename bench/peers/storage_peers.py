"""A peer of bench/storage.py reads all events of a set, cold and then warm: storage_peers.py NAME showers|events WHERE [BATCH]. Prints
events per CPU second of both epochs as JSON. write_mds WHAT FROM TO makes MosaicML's shards of the same arrays."""

import json
import os
import pathlib
import resource
import sys
import tempfile
import time

os.environ["CUDA_VISIBLE_DEVICES"], os.environ["TF_CPP_MIN_LOG_LEVEL"] = "-1", "3"
CELLS, PARTICLES, FEATURES = (51, 51, 25), 801, 19
EVENT_COLUMNS = ["GRU_input", "HLF_input", "encoded_label"]


def cpu_s() -> float:
    return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def measured(epoch) -> None:
    """`epoch` reads all once and returns how many; what libraries take to be imported is not counted."""
    found = []
    for _ in range(3):
        wall, cpu = time.monotonic(), cpu_s()
        count = epoch()
        found.append((count / (cpu_s() - cpu), time.monotonic() - wall))
    print(json.dumps({"cold": found[0][0], "warm": max(found[1][0], found[2][0]), "cold_wall_s": found[0][1],
                      "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def fetched_by_s3fs(where: str):
    """A function that brings the files to this host once, and where they are then: TensorFlow's wheel has no s3://, and tensorflow-io 0.37.1, which
    had, does not load into TensorFlow 2.21. Of the usual ways this took the least CPU time: boto3's download_file, and objects' bodies split into
    records in Python, took more."""
    import s3fs

    store = s3fs.S3FileSystem(endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    keys = sorted(store.ls(where))
    folder = tempfile.TemporaryDirectory()
    files = [str(pathlib.Path(folder.name) / pathlib.PurePosixPath(key).name) for key in keys]

    def fetch(folder: tempfile.TemporaryDirectory = folder) -> None:  # which is kept
        if not all(map(os.path.exists, files)):
            store.get(keys, files)
    return fetch, files


def tensorflow(what: str, where: str, batch: int) -> None:
    import tensorflow as tf

    assert what == "showers"
    features = {"X": tf.io.FixedLenFeature(CELLS, tf.float32), "Y": tf.io.FixedLenFeature([], tf.float32),
                "ang": tf.io.FixedLenFeature([], tf.float32), "ecal": tf.io.FixedLenFeature([], tf.float32)}
    fetch, files = fetched_by_s3fs(where) if where.startswith("s3://") else (lambda: None, sorted(str(path) for path in pathlib.Path(where).iterdir()))

    def epoch() -> int:
        fetch()
        data = tf.data.Dataset.from_tensor_slices(files).interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
        data = data.batch(batch).map(lambda records: tf.io.parse_example(records, features), num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
        return sum(len(one["Y"]) for one in data)
    measured(epoch)


def columns_of(batch):
    """Arrow's lists as the arrays that a network takes."""
    import numpy as np

    lists = batch.column("GRU_input")
    ends = lists.offsets.to_numpy()
    values = lists.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, FEATURES)
    particles = np.zeros((len(lists), PARTICLES, FEATURES), np.float32)
    for event in range(len(lists)):
        rows = values[ends[event] - ends[0]:ends[event + 1] - ends[0]][:PARTICLES]
        particles[event, :len(rows)] = rows
    flat = [batch.column(name).flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(len(lists), -1) for name in EVENT_COLUMNS[1:]]
    return particles, *flat


def arrow_batches(files, file_system, batch: int):
    import pyarrow.dataset as dataset

    for part in dataset.dataset(files, format="parquet", filesystem=file_system).to_batches(columns=EVENT_COLUMNS, batch_size=batch):
        yield columns_of(part)


def pyarrow(what: str, where: str, batch: int) -> None:
    from pyarrow import fs

    assert what == "events"
    store = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"].split("//")[1], scheme="http", region="us-east-1")
    files = sorted(one.path for one in store.get_file_info(fs.FileSelector(where)))
    measured(lambda: sum(len(particles) for particles, *_ in arrow_batches(files, store, batch)))


def write_mds(what: str, source: str, target: str) -> None:
    import numpy as np
    from streaming import MDSWriter

    files = sorted(pathlib.Path(source).iterdir())
    columns = {"x": "ndarray:float32", "y": "ndarray:float32"}
    with MDSWriter(out=target, columns=columns, compression=None) as out:
        if what == "showers":  # random cells of the size: what they hold costs nobody anything
            count = sum(round(file.stat().st_size / (np.prod(CELLS) * 4)) for file in files)
            for number in range(count):
                out.write({"x": np.random.default_rng(number).random(CELLS, np.float32), "y": np.zeros(3, np.float32)})
        else:
            for particles, features, labels in arrow_batches([str(file) for file in files], None, 256):
                for one in zip(particles, features, labels):
                    out.write({"x": one[0], "y": np.concatenate(one[1:])})


def mosaic(what: str, where: str, batch: int) -> None:
    from streaming import StreamingDataset
    from torch.utils.data import DataLoader

    with tempfile.TemporaryDirectory() as local:
        data = StreamingDataset(remote=where, local=local, shuffle=False, batch_size=batch)
        measured(lambda: sum(len(one["y"]) for one in DataLoader(data, batch_size=batch)))


if __name__ == "__main__":
    name, arguments = sys.argv[1], sys.argv[2:]
    if name == "write_mds":
        write_mds(*arguments)
    else:
        {"tensorflow": tensorflow, "pyarrow": pyarrow, "mosaic": mosaic}[name](arguments[0], arguments[1], int(arguments[2]))
