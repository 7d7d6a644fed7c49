"""A Keras model as linac can train it, which runs no Python: `save` of linac.keras.

  save        the model, or the model with its losses and metrics as outputs, as a file
  trace       calls each Lambda, and each layer, model or operation of a class that is not Keras's, on symbolic tensors
  rewriting   calls again what was called, weights as layers of their own
  weight      that layer
  graph       what Keras knows of a symbolic tensor"""
