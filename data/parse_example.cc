#include "data/parse_example.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/nearest.h"
#include "core/graph/op_builder.h"
#include "ops/array/rank_size.h"
#include "ops/array/view.h"
#include "ops/control/tuple.h"
#include "ops/data_flow/assert.h"
#include "ops/family.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

/// The features to parse. As in TensorFlow, the op's inputs repeat them; the kernel ignores those.
struct ParseExampleAttrs {
  std::vector<std::string> sparse_keys;
  std::vector<DType> sparse_types;
  std::vector<std::string> keys;
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;    ///< a sequence's first dimension is unknown
  std::vector<Array> defaults;  ///< empty for required features
  bool is_sequence(std::size_t i) const { return shapes[i].rank() > 0 && !shapes[i][0].known(); }
  static constexpr auto fields =
      std::tuple{attr::required("_sparse_keys", &ParseExampleAttrs::sparse_keys),
                 attr::required("sparse_types", &ParseExampleAttrs::sparse_types),
                 attr::required("_dense_keys", &ParseExampleAttrs::keys),
                 attr::required("Tdense", &ParseExampleAttrs::dtypes),
                 attr::required("dense_shapes", &ParseExampleAttrs::shapes),
                 attr::required("_dense_defaults", &ParseExampleAttrs::defaults)};
};

/// Returns the fixed-length features.
data::FixedLenFeatures features_of(const ParseExampleAttrs& attrs) {
  data::FixedLenFeatures features;
  for (std::size_t i = 0; i < attrs.keys.size(); ++i) {
    if (attrs.is_sequence(i)) continue;
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
  const std::size_t sparse = attrs.sparse_keys.size(), dense = attrs.keys.size();
  if (attrs.sparse_types.size() != sparse || attrs.dtypes.size() != dense ||
      attrs.shapes.size() != dense || attrs.defaults.size() != dense) {
    context.fail("the numbers of keys, dtypes, shapes and defaults differ");
  }
  for (std::size_t i = 0; i < sparse; ++i) context.add_output(DType::int64, Shape{None, 1});
  for (const DType type : attrs.sparse_types) context.add_output(type, Shape{None});
  for (std::size_t i = 0; i < sparse; ++i) context.add_output(DType::int64, Shape{1});
  for (std::size_t i = 0; i < attrs.keys.size(); ++i) {
    context.add_output(attrs.dtypes[i], attrs.shapes[i]);
  }
}

/// Outputs: indices, then values, then dense shapes of the sparse features, then the dense
/// features.
class ParseKernel final : public PreparedKernel {
 public:
  explicit ParseKernel(const ParseExampleAttrs& attrs) : sparse_(attrs.sparse_keys.size()) {
    for (std::size_t i = 0; i < sparse_; ++i) {
      variable_.emplace_back(attrs.sparse_keys[i], VarLenFeature{attrs.sparse_types[i]});
    }
    for (std::size_t i = 0; i < attrs.keys.size(); ++i) {
      const std::size_t output = 3 * sparse_ + i;
      if (!attrs.is_sequence(i)) {
        fixed_outputs_.push_back(output);
        continue;
      }
      const auto& dims = attrs.shapes[i].dims();
      variable_.emplace_back(attrs.keys[i], VarLenFeature{attrs.dtypes[i]});
      sequences_.push_back({output, Shape(std::vector<Dim>(dims.begin() + 1, dims.end()))});
    }
    if (!fixed_outputs_.empty()) fixed_.emplace(features_of(attrs));
  }

  void enqueue(Queue&, const LaunchArgs& args) const override {
    const auto& serialized = *args.input<std::string>(0);
    try {
      parse(serialized, args);
    } catch (const errors::InvalidArgumentError& error) {
      ErrorDetail detail = error.detail();
      if (detail.hint.empty()) detail.hint = data::describe_example(serialized, "");
      const std::string place = args.run->resources.origin_text(serialized);
      if (!place.empty()) detail.hint += (detail.hint.empty() ? "" : "; ") + place;
      throw errors::InvalidArgumentError(error.message(), detail);
    }
  }

 private:
  struct Sequence {
    std::size_t output;
    Shape each;
  };

  void parse(const std::string& serialized, const LaunchArgs& args) const {
    if (fixed_) {
      std::vector<void*> out;
      for (const std::size_t output : fixed_outputs_) out.push_back(args.outputs[output]);
      fixed_->parse_single_into(serialized, out.data());
    }
    if (variable_.empty()) return;
    data::parse_variable(serialized, variable_, [&](std::size_t i, std::int64_t count) {
      return i < sparse_ ? sparse_values(i, count, args) : sequence_values(i, count, args);
    });
  }

  void* sparse_values(std::size_t i, std::int64_t count, const LaunchArgs& args) const {
    auto* indices = static_cast<std::int64_t*>(args.arrays->allocate(i, Shape{count, 1}));
    for (std::int64_t at = 0; at < count; ++at) indices[at] = at;
    *args.output<std::int64_t>(2 * sparse_ + i) = count;
    return args.arrays->allocate(sparse_ + i, Shape{count});
  }
  void* sequence_values(std::size_t i, std::int64_t count, const LaunchArgs& args) const {
    const Sequence& sequence = sequences_[i - sparse_];
    const std::int64_t elements = sequence.each.elements();
    if (count % elements != 0) {
      throw errors::InvalidArgumentError(
          fmt::format("Error while parsing feature with key {}: number of elements should be "
                      "divisible by {}, found {} instead",
                      variable_[i].first, elements, count));
    }
    return args.arrays->allocate(sequence.output,
                                 Shape{count / elements}.concatenated(sequence.each));
  }

  std::size_t sparse_;
  std::optional<data::ExampleParser> fixed_;
  std::vector<std::size_t> fixed_outputs_;
  data::VariableFeatures variable_;  // the sparse ones, then the sequences
  std::vector<Sequence> sequences_;
};

std::unique_ptr<PreparedKernel> parse_kernel(const KernelRequest& request) {
  return std::make_unique<ParseKernel>(request.attributes<ParseExampleAttrs>());
}

/// Returns TensorFlow's name for the constant of a default: other characters become '_'.
std::string key_name(const std::string& key) {
  std::string name = "key_" + key;
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '.' && c != '-' && c != '/') c = '_';
  }
  return name;
}

/// Returns the tensor of a feature's default; an empty one for a required feature.
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

/// Returns the same for a sequence: the value with which it would be padded.
Tensor padding_tensor(Graph& graph, DType dtype, Site site) {
  if (dtype == DType::string) {
    return make_constant(graph, Array::scalar(std::string()), "Const", site);
  }
  Array zero(dtype, Shape{});
  std::fill_n(static_cast<std::byte*>(zero.raw()), zero.bytes(), std::byte{});
  return make_constant(graph, zero, "Const", site);
}

Array string_vector(const std::vector<std::string>& values) {
  return Array::of<std::string>(Shape{values.size()}, values);
}

}  // namespace

static void register_parse_example_ops(OpRegistry& registry) {
  registry.add(
      {.name = "ParseExampleV2",
       .inputs = {"serialized: string", "names: string", "sparse_keys: string",
                  "dense_keys: string", "ragged_keys: string", "dense_defaults: list(Tdense)"},
       .outputs = {"sparse_indices: num_sparse * int64", "sparse_values: list(sparse_types)",
                   "sparse_shapes: num_sparse * int64", "dense_values: list(Tdense)",
                   "ragged_values: list(ragged_value_types)",
                   "ragged_row_splits: list(ragged_split_types)"},
       .attrs = attributes<ParseExampleAttrs>()
                    .fixed("ragged_value_types", std::vector<DType>{})
                    .fixed("ragged_split_types", std::vector<DType>{}),
       .shape = parse_shape,
       .gradient = NoGradient{"parsed values are input data"}});
}

static void register_parse_example_kernels(KernelTable& table) {
  table.add(
      {.op = "ParseExampleV2",
       .label = "wire format",
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].shape.compatible(Shape{}); },
       .prepare = parse_kernel});
}

OpFamily parse_example_family() {
  return {.ops = register_parse_example_ops, .kernels = register_parse_example_kernels};
}

ParsedFeatures::ParsedFeatures(std::map<std::string, Tensor> tensors)
    : tensors_(std::move(tensors)) {}

ParsedMixedFeatures::ParsedMixedFeatures(std::map<std::string, Tensor> tensors,
                                         std::map<std::string, SparseTensor> sparse)
    : dense_(std::move(tensors)), sparse_(std::move(sparse)) {}

const Tensor& ParsedFeatures::operator[](const std::string& key) const {
  const auto it = tensors_.find(key);
  if (it != tensors_.end()) return it->second;
  std::vector<std::string> keys;
  for (const auto& [known, tensor] : tensors_) keys.push_back(known);
  throw KeyError(fmt::format("feature '{}' was not asked for", key),
                 {.hint = nearest_hint(key, keys)});
}

const SparseTensor& ParsedMixedFeatures::sparse(const std::string& key) const {
  const auto it = sparse_.find(key);
  if (it != sparse_.end()) return it->second;
  throw KeyError(fmt::format("no VarLenFeature '{}' was parsed", key));
}

ParsedFeatures parse_single_example(const Operand& serialized, const Features& features,
                                    ParseExampleOptions options, Site site) {
  const MixedFeatures mixed(features.begin(), features.end());
  return ParsedFeatures(parse_mixed_example(serialized, mixed, options, site).tensors());
}

namespace {

void check_value_type(const std::string& key, DType dtype, Site site) {
  if (dtype == float32 || dtype == int64 || dtype == string) return;
  throw TypeError(fmt::format("feature {} has dtype {}, which is not in the list of allowed "
                              "values: float32, int64, string",
                              key, dtype_name(dtype)),
                  {.site = site, .op = "ParseExampleV2"});
}

void check_sequence(const std::string& key, const FixedLenSequenceFeature& feature, Site site) {
  if (!feature.allow_missing) {
    throw ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.",
                     {.site = site, .op = "ParseExampleV2"});
  }
  check_value_type(key, feature.dtype, site);
  if (!feature.shape.fully_known() || feature.shape.elements() == 0) {
    throw ValueError(
        fmt::format("feature {}: each value of a FixedLenSequenceFeature has a fully known shape "
                    "with elements, not {}",
                    key, feature.shape.text()),
        {.site = site, .op = "ParseExampleV2"});
  }
}

ParseExampleAttrs parse_attrs(const MixedFeatures& features, Site site) {
  ParseExampleAttrs attrs;
  for (const auto& [key, feature] : features) {
    if (const auto* variable = std::get_if<VarLenFeature>(&feature)) {
      check_value_type(key, variable->dtype, site);
      attrs.sparse_keys.push_back(key);
      attrs.sparse_types.push_back(variable->dtype);
      continue;
    }
    attrs.keys.push_back(key);
    if (const auto* sequence = std::get_if<FixedLenSequenceFeature>(&feature)) {
      check_sequence(key, *sequence, site);
      attrs.dtypes.push_back(sequence->dtype);
      attrs.shapes.push_back(Shape{None}.concatenated(sequence->shape));
      attrs.defaults.emplace_back();
      continue;
    }
    const auto& fixed = std::get<FixedLenFeature>(feature);
    if (!fixed.shape.fully_known()) {  // would be mistaken for a sequence
      throw ValueError(fmt::format("feature {} has the shape {}, which is not fully known", key,
                                   fixed.shape.text()),
                       {.site = site,
                        .op = "ParseExampleV2",
                        .hint = "a FixedLenFeature has the same shape in every Example"});
    }
    attrs.dtypes.push_back(fixed.dtype);
    attrs.shapes.push_back(fixed.shape);
    attrs.defaults.push_back(fixed.default_value.value_or(Array()));
  }
  return attrs;
}

/// Returns a serialized Example; one of unknown rank once a run has found it a scalar.
Tensor checked_scalar(const Tensor& serialized, Site site) {
  if (serialized.shape().has_rank()) return serialized;
  const Tensor dimensions = rank(Operand(serialized, site), {}, site);
  const Tensor is_scalar = equal(Operand(dimensions, site), Operand(0, site), {}, site);
  const Operation check = Assert(Operand(is_scalar, site), {"Input serialized must be a scalar"},
                                 {.name = "SerializedIsScalar"}, site);
  Tensor checked = with_dependencies({check}, serialized, {.name = "serializedDependencies"}, site);
  checked.set_shape(Shape{}, site);
  return checked;
}

}  // namespace

ParsedMixedFeatures parse_mixed_example(const Operand& serialized, const MixedFeatures& features,
                                        const ParseExampleOptions& options, Site site) {
  if (features.empty()) {
    throw ValueError("Invalid argument: features cannot be empty.", {.site = site});
  }
  ParseExampleAttrs attrs = parse_attrs(features, site);
  try {
    auto fixed = features_of(attrs);
    if (!fixed.empty()) data::ExampleParser(std::move(fixed));  // throws if it cannot parse them
  } catch (...) {
    rethrow_with({.site = site, .op = "ParseExampleV2"});
  }
  const auto name_or = [&](const char* name) { return options.name.empty() ? name : options.name; };
  const Tensor* inside = serialized.any_tensor();
  Graph& graph = inside != nullptr ? inside->graph() : get_default_graph();
  const NameScope outer(graph, name_or("ParseSingleExample"), site);
  const Tensor bytes =
      checked_scalar(convert_operand(graph, serialized, "serialized", DType::string), site);
  const NameScope inner(graph, name_or("ParseExample"), site);
  std::vector<Tensor> defaults;
  for (std::size_t i = 0; i < attrs.keys.size(); ++i) {
    const auto* fixed = std::get_if<FixedLenFeature>(&features.at(attrs.keys[i]));
    defaults.push_back(fixed != nullptr ? default_tensor(graph, attrs.keys[i], *fixed, site)
                                        : padding_tensor(graph, attrs.dtypes[i], site));
  }
  const Operand input(bytes);
  OpBuilder builder("ParseExampleV2", options.name, site, {&input});
  builder.input(input, "serialized")
      .input(string_vector({}), "names")
      .input(string_vector(attrs.sparse_keys), "sparse_keys")
      .input(string_vector(attrs.keys), "dense_keys")
      .input(string_vector({}), "ragged_keys")
      .inputs(defaults, "dense_defaults");
  const std::vector<std::string> keys = attrs.keys, sparse_keys = attrs.sparse_keys;
  const Operation op = builder.attrs(std::move(attrs)).build();
  std::map<std::string, SparseTensor> sparse;
  const std::size_t count = sparse_keys.size();
  for (std::size_t i = 0; i < count; ++i) {
    sparse[sparse_keys[i]] = {op.output(i), op.output(count + i), op.output(2 * count + i)};
  }
  std::map<std::string, Tensor> tensors;
  for (std::size_t i = 0; i < keys.size(); ++i) tensors.emplace(keys[i], op.output(3 * count + i));
  return ParsedMixedFeatures(std::move(tensors), std::move(sparse));
}

}  // namespace towerflow
