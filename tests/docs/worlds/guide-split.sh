# job.yaml: the discriminator of a small 3DGAN learns energies.
"$LINAC" train "$LINAC_ROOT/examples/3dgan-from-nothing.yaml" --out gan --workers 1 --set data.train="[$LINAC_ROOT/data/showers-train.h5]" \
  --set data.test="[$LINAC_ROOT/data/showers-test.h5]" --set train.replicas=1 --set train.batch=1 --set train.epochs=1 --set train.steps_per_epoch=1 \
  --set model.generator_channels=1 --set model.generator_filters="[2, 1, 2, 1, 1, 1]" --set model.discriminator_filters="[2, 1, 1, 1]" \
  --set validate.every_epochs=0
"$LINAC" export gan --part discriminator --out discriminator.keras
cat >job.yaml <<EOF
name: energy
model: {kind: keras, file: discriminator.keras}
data:
  train: [$LINAC_ROOT/data/showers-test.h5]
  inputs: [{name: image, column: ECAL}]
  targets: [{name: auxiliary, column: energy}]
train: {epochs: 1, steps_per_epoch: 2, replicas: 1, batch: 2, fit: {loss: [none, mean_squared_error]}}
EOF
