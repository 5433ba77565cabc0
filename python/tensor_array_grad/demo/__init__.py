"""A demonstration on real data: `python -m tensor_array_grad.demo`.

Trains a recurrent model that forecasts the weekly CO2 record of Mauna Loa. Each configuration runs
on stock TensorFlow and with this library enabled, in separate processes. The demonstration checks
that the losses are equal, and shows the time and memory of both.
"""
