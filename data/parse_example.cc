#include "data/parse_example.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/nearest.h"
#include "core/graph/op_builder.h"
#include "data/families.h"
#include "ops/array/view.h"

namespace towerflow {
namespace {

/// What to parse; the op's inputs repeat it as TensorFlow's do, and are not looked at in a run.
struct ParseExampleAttrs {
  std::vector<std::string> keys;
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  std::vector<Array> defaults;  ///< empty ones for required features
  bool operator==(const ParseExampleAttrs&) const = default;
};

data::FixedLenFeatures features_of(const ParseExampleAttrs& attrs) {
  data::FixedLenFeatures features;
  for (std::size_t i = 0; i < attrs.keys.size(); ++i) {
    FixedLenFeature feature{attrs.shapes[i], attrs.dtypes[i], std::nullopt};
    if (!attrs.defaults[i].empty()) feature.default_value = attrs.defaults[i];
    features.emplace_back(attrs.keys[i], std::move(feature));
  }
  return features;
}

void parse_shape(InferenceContext& context) {
  const Shape& serialized = context.shape(0);
  if (serialized.has_rank() && serialized.rank() != 0) {
    context.fail("Input serialized must be a scalar");
  }
  const auto& attrs = context.attrs<ParseExampleAttrs>();
  for (std::size_t i = 0; i < attrs.keys.size(); ++i) {
    context.add_output(attrs.dtypes[i], attrs.shapes[i]);
  }
}

std::unique_ptr<PreparedKernel> parse_kernel(const KernelRequest& request) {
  auto parser =
      std::make_shared<data::ExampleParser>(features_of(request.attributes<ParseExampleAttrs>()));
  return function_kernel([parser = std::move(parser)](const LaunchArgs& args) {
    parser->parse_single_into(*args.input<std::string>(0), args.outputs);
  });
}

/// TensorFlow's name for the constant of a default: other characters become '_'.
std::string key_name(const std::string& key) {
  std::string name = "key_" + key;
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '.' && c != '-' && c != '/') c = '_';
  }
  return name;
}

/// The tensor of a feature's default: an empty one where it is required.
Tensor default_tensor(Graph& graph, const std::string& key, const FixedLenFeature& feature,
                      Site site) {
  if (!feature.default_value) {
    return make_constant(graph, Array(feature.dtype, Shape{0}), "Const", site);
  }
  const Tensor value = make_constant(graph, *feature.default_value, key_name(key), site);
  Array shape(DType::int32, Shape{feature.shape.rank()});
  for (std::size_t i = 0; i < feature.shape.rank(); ++i) {
    shape.data<std::int32_t>()[i] = static_cast<std::int32_t>(feature.shape.size(i));
  }
  return reshape(value, shape, {}, site);
}

Array string_vector(const std::vector<std::string>& values) {
  return Array::of<std::string>(Shape{values.size()}, values);
}

}  // namespace

void register_parse_example_ops(OpRegistry& registry) {
  registry.add({.name = "ParseExampleV2",
                .shape = parse_shape,
                .gradient = NoGradient{"parsed values are data, not computed"}});
}

void register_parse_example_kernels(KernelTable& table) {
  table.add(
      {.op = "ParseExampleV2",
       .label = "wire format",
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].shape.compatible(Shape{}); },
       .prepare = parse_kernel});
}

const Tensor& ParsedFeatures::operator[](const std::string& key) const {
  const auto it = tensors_.find(key);
  if (it != tensors_.end()) return it->second;
  std::vector<std::string> keys;
  for (const auto& [known, tensor] : tensors_) keys.push_back(known);
  throw KeyError(fmt::format("feature '{}' was not asked for", key),
                 {.hint = nearest_hint(key, keys)});
}

ParsedFeatures parse_single_example(const Operand& serialized, const Features& features,
                                    ParseExampleOptions options, Site site) {
  if (features.empty()) {
    throw ValueError("Invalid argument: features cannot be empty.", {.site = site});
  }
  ParseExampleAttrs attrs;
  for (const auto& [key, feature] : features) {
    attrs.keys.push_back(key);
    attrs.dtypes.push_back(feature.dtype);
    attrs.shapes.push_back(feature.shape);
    attrs.defaults.push_back(feature.default_value.value_or(Array()));
  }
  try {
    data::ExampleParser(features_of(attrs));  // throws for features that cannot be parsed
  } catch (...) {
    rethrow_with({.site = site, .op = "ParseExampleV2"});
  }
  const auto name_or = [&](const char* name) { return options.name.empty() ? name : options.name; };
  const Tensor* inside = serialized.any_tensor();
  Graph& graph = inside != nullptr ? inside->graph() : get_default_graph();
  const NameScope outer(graph, name_or("ParseSingleExample"), site);
  const Tensor bytes = convert_operand(graph, serialized, "serialized", DType::string);
  const NameScope inner(graph, name_or("ParseExample"), site);
  std::vector<Tensor> defaults;
  for (const auto& [key, feature] : features) {
    defaults.push_back(default_tensor(graph, key, feature, site));
  }
  const Operand input(bytes);
  OpBuilder builder("ParseExampleV2", options.name, site, {&input});
  builder.input(input, "serialized")
      .input(string_vector({}), "names")
      .input(string_vector({}), "sparse_keys")
      .input(string_vector(attrs.keys), "dense_keys")
      .input(string_vector({}), "ragged_keys")
      .inputs(defaults, "dense_defaults");
  const std::vector<std::string> keys = attrs.keys;
  const Operation op = builder.attrs(std::move(attrs)).build();
  std::map<std::string, Tensor> tensors;
  for (std::size_t i = 0; i < keys.size(); ++i) tensors.emplace(keys[i], op.output(i));
  return ParsedFeatures(std::move(tensors));
}

}  // namespace towerflow
