"""A demonstration on real data: `python -m tensor_array_grad.demo`.

It runs one program, which trains recurrent models on the weekly CO2 record of Mauna Loa, on stock
TensorFlow and with this library, checks that the losses are equal, and shows the times of both.
"""
