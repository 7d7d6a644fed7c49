. "$LINAC_ROOT/tests/docs/worlds/guide-planning.sh"  # its job
