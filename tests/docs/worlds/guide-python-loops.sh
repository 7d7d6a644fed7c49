# Events of a loop.
ln -s data/topology-train.parquet train-0.parquet
