"""TensorFlow's side of the golden programs; the format is described in ../README.md."""
