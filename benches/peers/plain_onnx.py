"""Rewrites an ONNX file for converters that read plain files only: plain_onnx.py FROM TO.

Weights that the graph computes from nothing (`ConstantOfShape`) become weights of the file, and weights are no longer
inputs of the graph at the same time, as in files before IR version 4.
"""

import sys

import onnx
from onnx import helper, numpy_helper
import numpy as np

model = onnx.load(sys.argv[1])
graph = model.graph
stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
left = []
for node in graph.node:
    if node.op_type == "ConstantOfShape" and node.input[0] in stored:
        values = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        value = numpy_helper.to_array(values["value"]) if "value" in values else np.zeros(1, np.float32)
        full = np.full(stored[node.input[0]], value[0], value.dtype)
        graph.initializer.append(numpy_helper.from_array(full, node.output[0]))
    else:
        left.append(node)
del graph.node[:]
graph.node.extend(left)
weights = {one.name for one in graph.initializer}
inputs = [one for one in graph.input if one.name not in weights]
del graph.input[:]
graph.input.extend(inputs)
onnx.save(model, sys.argv[2])
