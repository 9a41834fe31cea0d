"""tf.data: datasets and iterators. Elements are tensors, {"tuple": [...]} or {"dict": {...}}."""

import tensorflow.compat.v1 as tf

from .handlers import OPS, handler, method, plain

plain("dataset_from_tensors", tf.data.Dataset.from_tensors, "tensors")
plain("dataset_from_tensor_slices", tf.data.Dataset.from_tensor_slices, "tensors")


@handler
def dataset_range(interpreter, bounds):
    """`bounds` is the list of one to three arguments."""
    return tf.data.Dataset.range(*bounds)


@handler
def dataset_zip(interpreter, datasets):
    """`datasets` is a tuple or a dict."""
    return tf.data.Dataset.zip(datasets)




def with_function(name, parameters):
    """Registers a method that calls a function. When that fails, TensorFlow forgets to reset that
    variables are resource variables."""
    def run(interpreter, dataset, **args):
        try:
            return getattr(dataset, name)(**args)
        finally:
            tf.get_variable_scope().set_use_resource(False)

    OPS["dataset_" + name] = (["dataset"] + parameters.split(), run)


for name, parameters in {
        "map": "map_func num_parallel_calls", "filter": "predicate", "flat_map": "map_func",
        "interleave": "map_func cycle_length block_length num_parallel_calls"}.items():
    with_function(name, parameters)
for name, parameters in {
        "batch": "batch_size drop_remainder",
        "shuffle": "buffer_size seed reshuffle_each_iteration", "repeat": "count",
        "take": "count", "skip": "count", "prefetch": "buffer_size", "shard": "num_shards index",
        "cache": "", "enumerate": "start", "concatenate": "dataset"}.items():
    method("dataset_" + name, "dataset" if name != "concatenate" else "first", name, parameters)


@handler
def dataset_padded_batch(interpreter, dataset, batch_size, padded_shapes=None,
                         padding_values=None, drop_remainder=False):
    """`padded_shapes` and `padding_values` are lists with one item for each component."""
    def structured(items):
        return items if items is None else tuple(items) if len(items) > 1 else items[0]

    return dataset.padded_batch(batch_size, structured(padded_shapes), structured(padding_values),
                                drop_remainder)


plain("one_shot_iterator", tf.data.make_one_shot_iterator, "dataset")
plain("initializable_iterator", tf.data.make_initializable_iterator, "dataset shared_name")
method("get_next", "iterator", "get_next", "name")
method("make_initializer", "iterator", "make_initializer", "dataset name")


@handler
def iterator_initializer(interpreter, iterator):
    return iterator.initializer


@handler
def iterator_like(interpreter, dataset):
    """Returns an iterator for datasets of this one's structure."""
    return tf.data.Iterator.from_structure(tf.data.get_output_types(dataset),
                                           tf.data.get_output_shapes(dataset))


@handler
def dataset_shapes(interpreter, dataset):
    """Returns the static shapes of the components."""
    return tf.nest.flatten(tf.data.get_output_shapes(dataset))
