# A generator of showers that is trained in a moment.
cat >job.yaml <<END
name: showers
model: {kind: cell_chain, geometry: examples/geometry/clic-ecal.yaml, hidden: 8, layer_hidden: 8}
data: {train: [data/showers-train.h5], test: [data/showers-test.h5], fields: {image: ECAL, energy: energy, angle: theta}, threshold: 0}
train: {epochs: 1, replicas: 4, batch: 1, optimizer: {name: adam, lr: 2.0e-3}}
END
