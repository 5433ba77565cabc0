"""Benchmarks of tensor_array_grad against stock TensorFlow; see README.md."""
