"""A demonstration on real data: `python -m tensor_array_grad.demo`.

Trains a recurrent forecaster of the weekly CO2 record of Mauna Loa, each configuration once on
stock TensorFlow and once with this library enabled, in processes of their own, and shows that the
losses are equal, and what the library changes in time and memory.
"""
