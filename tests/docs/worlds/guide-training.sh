. "$LINAC_ROOT/tests/docs/worlds/guide-planning.sh"  # its job
mkdir train && cp data/topology-train.parquet train/
