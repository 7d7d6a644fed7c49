# A classifier that is trained in a moment.
cat >job.yaml <<END
name: topology
model: {kind: inclusive_classifier, variant: hlf}
data:
  train: [data/topology-train.parquet]
  test: [data/topology-test.parquet]
  inputs: [{name: HLF_input, column: HLF_input, scaling: min_max}]
  targets: [{column: encoded_label}]
  scaling: data/topology-scaling.json
  classes: [QCD, ttbar, W+jets]
train: {epochs: 1, replicas: 4, batch: 8, fit: {loss: categorical_crossentropy}, optimizer: {name: adam, lr: 2.0e-3}}
END
