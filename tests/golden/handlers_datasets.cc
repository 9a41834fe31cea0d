// tf::data.
#include "dataset/dataset.h"
#include "dataset/iterator.h"
#include "tests/golden/handlers.h"
#include "tests/golden/structures.h"

namespace towerflow::golden {
namespace {

using data::Dataset;
using data::Element;
using Kind = data::types::Structure::Kind;

Dataset dataset_of(const Value& value) {
  const auto* object = value.get_if<Object>();
  const auto* dataset = object == nullptr ? nullptr : std::any_cast<Dataset>(&object->object);
  if (dataset == nullptr) throw DoesNotCompile("no dataset");
  return *dataset;
}

Value held(const Dataset& dataset) { return Object{"Dataset", dataset}; }

template <std::size_t... kIndex>
Element tuple_of(const std::vector<Element>& parts, std::index_sequence<kIndex...>) {
  return Element(std::tuple(parts[kIndex]...));
}

template <std::size_t kSize = 1>
Element tuple_element(const std::vector<Element>& parts) {
  if (parts.size() == kSize) return tuple_of(parts, std::make_index_sequence<kSize>());
  if constexpr (kSize < 12) return tuple_element<kSize + 1>(parts);
  throw BadProgram("a tuple of " + std::to_string(parts.size()) + " parts");
}

/// Converts a tensor or value, a tuple or a dictionary.
Element to_element(const Value& value) {
  if (value.dict() != nullptr) {
    std::map<std::string, Element> parts;
    for (const auto& [key, part] : *value.dict()) parts.emplace(key, to_element(part));
    return Element(parts);
  }
  const auto* object = value.get_if<Object>();
  if (object == nullptr || object->type != "tuple") return Element(to_operand(value));
  std::vector<Element> parts;
  for (const Value& item : items_of(value)) parts.push_back(to_element(item));
  return tuple_element(parts);
}

/// Converts an element to a tensor, a list or a dictionary.
Value of_element(const Element& element, const data::types::Structure& structure) {
  if (structure.kind == Kind::tensor) return Tensor(element);
  List list;
  Dict dict;
  for (std::size_t i = 0; i < structure.parts.size(); ++i) {
    if (structure.kind == Kind::tuple) {
      list.push_back(of_element(element[static_cast<int>(i)], structure.parts[i]));
    } else {
      dict.emplace(structure.keys[i], of_element(element[structure.keys[i]], structure.parts[i]));
    }
  }
  return structure.kind == Kind::tuple ? Value(list) : Value(dict);
}

/// Calls a function with an element; the parts of a tuple are its arguments.
Value called(Interpreter& in, const Object& function, const Element& element) {
  const auto structure = element.structure();
  const Value value = of_element(element, structure);
  return in.run_function(function, structure.kind == Kind::tuple ? *value.list() : List{value});
}

ScalarOperand scalar(const Args& args, const char* name) {
  return ScalarOperand(args.operand(name));
}

template <class Call>
Handler with_dataset(Call call) {
  return [call](Interpreter&, const Args& args) -> Value {
    return held(call(dataset_of(args.value("dataset")), args));
  };
}

Value mapped_dataset(Interpreter& in, const Args& args) {
  const Object function = args.object("map_func");
  return held(dataset_of(args.value("dataset"))
                  .map([&](const Element& e) { return to_element(called(in, function, e)); },
                       {.num_parallel_calls = args.optional_integer("num_parallel_calls")}));
}

Value filtered(Interpreter& in, const Args& args) {
  const Object function = args.object("predicate");
  return held(dataset_of(args.value("dataset")).filter([&](const Element& e) {
    return to_element(called(in, function, e));
  }));
}

Value flattened(Interpreter& in, const Args& args) {
  const Object function = args.object("map_func");
  return held(dataset_of(args.value("dataset")).flat_map([&](const Element& e) {
    return dataset_of(called(in, function, e));
  }));
}

Value interleaved(Interpreter& in, const Args& args) {
  const Object function = args.object("map_func");
  data::InterleaveOptions options;
  options.cycle_length = args.integer("cycle_length", -1);
  options.block_length = args.integer("block_length", 1);
  options.num_parallel_calls = args.optional_integer("num_parallel_calls");
  return held(dataset_of(args.value("dataset"))
                  .interleave([&](const Element& e) { return dataset_of(called(in, function, e)); },
                              options));
}

Value range(Interpreter&, const Args& args) {
  std::vector<ScalarOperand> bounds;
  for (const Value& item : args.list("bounds")) bounds.emplace_back(to_operand(item));
  switch (bounds.size()) {
    case 1:
      return held(Dataset::range(bounds[0]));
    case 2:
      return held(Dataset::range(bounds[0], bounds[1]));
    case 3:
      return held(Dataset::range(bounds[0], bounds[1], bounds[2]));
    default:
      throw DoesNotCompile("a range has one to three bounds");
  }
}

Value zipped(Interpreter&, const Args& args) {
  const Value& datasets = args.value("datasets");
  if (datasets.dict() != nullptr) {
    std::map<std::string, Dataset> parts;
    for (const auto& [key, part] : *datasets.dict()) parts.emplace(key, dataset_of(part));
    return held(Dataset::zip(parts));
  }
  std::vector<Dataset> parts;
  for (const Value& item : items_of(datasets)) parts.push_back(dataset_of(item));
  return held(Dataset::zip(parts));
}

Value padded(Interpreter&, const Args& args) {
  data::PaddedBatchOptions options;
  if (!args.value("padded_shapes").none()) {
    for (const Value& item : args.list("padded_shapes")) {
      options.padded_shapes.push_back(to_shape(item).value_or(Shape::unknown()));
    }
  }
  if (!args.value("padding_values").none()) {
    for (const Value& item : args.list("padding_values")) {
      options.padding_values.emplace_back(to_operand(item));
    }
  }
  options.drop_remainder = args.flag("drop_remainder");
  return held(dataset_of(args.value("dataset")).padded_batch(scalar(args, "batch_size"), options));
}

data::Iterator iterator_of(const Args& args) { return args.object_as<data::Iterator>("iterator"); }

Value held(const data::Iterator& iterator) { return Object{"Iterator", iterator}; }

void add_iterators(HandlerTable& table) {
  table["one_shot_iterator"] = [](Interpreter&, const Args& args) -> Value {
    return held(data::make_one_shot_iterator(dataset_of(args.value("dataset"))));
  };
  table["initializable_iterator"] = [](Interpreter&, const Args& args) -> Value {
    data::IteratorOptions options;
    options.shared_name = args.text("shared_name");
    return held(data::make_initializable_iterator(dataset_of(args.value("dataset")), options));
  };
  table["iterator_like"] = [](Interpreter&, const Args& args) -> Value {
    const Dataset dataset = dataset_of(args.value("dataset"));
    return held(data::Iterator::from_structure(dataset.element_spec()));
  };
  table["iterator_initializer"] = [](Interpreter&, const Args& args) -> Value {
    return iterator_of(args).initializer();
  };
  table["make_initializer"] = [](Interpreter&, const Args& args) -> Value {
    return iterator_of(args).make_initializer(dataset_of(args.value("dataset")),
                                              {.name = args.text("name")});
  };
  table["get_next"] = [](Interpreter&, const Args& args) -> Value {
    const Element element = iterator_of(args).get_next({.name = args.text("name")});
    return of_element(element, element.structure());
  };
  table["dataset_shapes"] = [](Interpreter&, const Args& args) -> Value {
    List shapes;
    for (const Shape& shape : dataset_of(args.value("dataset")).output_shapes()) {
      shapes.emplace_back(shape);
    }
    return shapes;
  };
}

void add_transformations(HandlerTable& table) {
  table["dataset_batch"] = with_dataset([](const Dataset& dataset, const Args& args) {
    return dataset.batch(scalar(args, "batch_size"),
                         {.drop_remainder = args.flag("drop_remainder")});
  });
  table["dataset_shuffle"] = with_dataset([](const Dataset& dataset, const Args& args) {
    data::ShuffleOptions options;
    options.seed = args.optional_integer("seed");
    options.reshuffle_each_iteration = args.flag("reshuffle_each_iteration", true);
    return dataset.shuffle(scalar(args, "buffer_size"), options);
  });
  table["dataset_repeat"] = with_dataset([](const Dataset& dataset, const Args& args) {
    return args.value("count").none() ? dataset.repeat() : dataset.repeat(scalar(args, "count"));
  });
  table["dataset_take"] = with_dataset(
      [](const Dataset& dataset, const Args& args) { return dataset.take(scalar(args, "count")); });
  table["dataset_skip"] = with_dataset(
      [](const Dataset& dataset, const Args& args) { return dataset.skip(scalar(args, "count")); });
  table["dataset_prefetch"] = with_dataset([](const Dataset& dataset, const Args& args) {
    return dataset.prefetch(scalar(args, "buffer_size"));
  });
  table["dataset_shard"] = with_dataset([](const Dataset& dataset, const Args& args) {
    return dataset.shard(scalar(args, "num_shards"), scalar(args, "index"));
  });
  table["dataset_cache"] =
      with_dataset([](const Dataset& dataset, const Args&) { return dataset.cache(); });
  table["dataset_enumerate"] = with_dataset([](const Dataset& dataset, const Args& args) {
    return args.has("start") ? dataset.enumerate(scalar(args, "start")) : dataset.enumerate();
  });
  table["dataset_concatenate"] = [](Interpreter&, const Args& args) -> Value {
    return held(dataset_of(args.value("first")).concatenate(dataset_of(args.value("dataset"))));
  };
}

}  // namespace

void add_dataset_handlers(HandlerTable& table) {
  table["dataset_from_tensors"] = [](Interpreter&, const Args& args) -> Value {
    return held(Dataset::from_tensors(to_element(args.value("tensors"))));
  };
  table["dataset_from_tensor_slices"] = [](Interpreter&, const Args& args) -> Value {
    return held(Dataset::from_tensor_slices(to_element(args.value("tensors"))));
  };
  table["dataset_range"] = range;
  table["dataset_zip"] = zipped;
  table["dataset_map"] = mapped_dataset;
  table["dataset_filter"] = filtered;
  table["dataset_flat_map"] = flattened;
  table["dataset_interleave"] = interleaved;
  table["dataset_padded_batch"] = padded;
  add_transformations(table);
  add_iterators(table);
}

}  // namespace towerflow::golden
