#include "core/graph/widening.h"

#include <algorithm>
#include <string_view>

#include "core/graph/short_float.h"

namespace towerflow {
namespace {

/// Sorted; test `ops_naming` compares the list with TensorFlow's definitions.
constexpr std::string_view kTaking[] = {"Abs",
                                        "Acos",
                                        "Acosh",
                                        "AddN",
                                        "AddV2",
                                        "ApplyAdadelta",
                                        "ApplyAdagrad",
                                        "ApplyAdagradDA",
                                        "ApplyAdam",
                                        "ApplyCenteredRMSProp",
                                        "ApplyFtrl",
                                        "ApplyFtrlV2",
                                        "ApplyGradientDescent",
                                        "ApplyMomentum",
                                        "ApplyProximalAdagrad",
                                        "ApplyProximalGradientDescent",
                                        "ApplyRMSProp",
                                        "ArgMax",
                                        "ArgMin",
                                        "Asin",
                                        "Asinh",
                                        "AssignAdd",
                                        "AssignSub",
                                        "Atan",
                                        "Atan2",
                                        "Atanh",
                                        "AvgPool",
                                        "AvgPoolGrad",
                                        "BatchMatMulV2",
                                        "BiasAdd",
                                        "BiasAddGrad",
                                        "Ceil",
                                        "CheckNumerics",
                                        "ClipByValue",
                                        "Conv2D",
                                        "Conv2DBackpropFilter",
                                        "Conv2DBackpropInput",
                                        "Cos",
                                        "Cosh",
                                        "Cross",
                                        "Cumprod",
                                        "Cumsum",
                                        "DepthwiseConv2dNative",
                                        "DepthwiseConv2dNativeBackpropFilter",
                                        "DepthwiseConv2dNativeBackpropInput",
                                        "Diag",
                                        "DiagPart",
                                        "Digamma",
                                        "DivNoNan",
                                        "Einsum",
                                        "Elu",
                                        "EluGrad",
                                        "Equal",
                                        "Erf",
                                        "Erfc",
                                        "Exp",
                                        "Expm1",
                                        "ExtractImagePatches",
                                        "Floor",
                                        "FloorDiv",
                                        "FloorMod",
                                        "FusedBatchNormGradV3",
                                        "FusedBatchNormV3",
                                        "Greater",
                                        "GreaterEqual",
                                        "HSVToRGB",
                                        "HistogramSummary",
                                        "IsFinite",
                                        "IsInf",
                                        "IsNan",
                                        "L2Loss",
                                        "LRN",
                                        "LRNGrad",
                                        "LeakyRelu",
                                        "LeakyReluGrad",
                                        "Less",
                                        "LessEqual",
                                        "Lgamma",
                                        "ListDiff",
                                        "Log",
                                        "Log1p",
                                        "LogSoftmax",
                                        "MatMul",
                                        "MatrixBandPart",
                                        "Max",
                                        "MaxPool",
                                        "MaxPoolGrad",
                                        "MaxPoolGradGrad",
                                        "MaxPoolGradWithArgmax",
                                        "MaxPoolWithArgmax",
                                        "Maximum",
                                        "Mean",
                                        "Min",
                                        "Minimum",
                                        "MirrorPadGrad",
                                        "Mul",
                                        "Multinomial",
                                        "Neg",
                                        "NotEqual",
                                        "Pow",
                                        "Prod",
                                        "ProductOfOthers",
                                        "Qr",
                                        "RGBToHSV",
                                        "RandomStandardNormal",
                                        "RandomUniform",
                                        "Range",
                                        "RealDiv",
                                        "Reciprocal",
                                        "Relu",
                                        "Relu6",
                                        "Relu6Grad",
                                        "ReluGrad",
                                        "ResizeArea",
                                        "ResizeBicubic",
                                        "ResizeBilinear",
                                        "ResizeBilinearGrad",
                                        "ResizeNearestNeighbor",
                                        "ResizeNearestNeighborGrad",
                                        "ReverseV2",
                                        "Rint",
                                        "Round",
                                        "Rsqrt",
                                        "RsqrtGrad",
                                        "ScalarSummary",
                                        "ScatterAdd",
                                        "ScatterDiv",
                                        "ScatterMax",
                                        "ScatterMin",
                                        "ScatterMul",
                                        "ScatterNd",
                                        "ScatterNdAdd",
                                        "ScatterNdSub",
                                        "ScatterSub",
                                        "SegmentMax",
                                        "SegmentMean",
                                        "SegmentMin",
                                        "SegmentProd",
                                        "SegmentSum",
                                        "Selu",
                                        "SeluGrad",
                                        "Sigmoid",
                                        "SigmoidGrad",
                                        "Sign",
                                        "Sin",
                                        "Sinh",
                                        "Softmax",
                                        "SoftmaxCrossEntropyWithLogits",
                                        "Softplus",
                                        "Softsign",
                                        "SoftsignGrad",
                                        "SparseApplyAdadelta",
                                        "SparseApplyAdagrad",
                                        "SparseApplyAdagradDA",
                                        "SparseApplyAdam",
                                        "SparseApplyCenteredRMSProp",
                                        "SparseApplyFtrl",
                                        "SparseApplyFtrlV2",
                                        "SparseApplyMomentum",
                                        "SparseApplyProximalAdagrad",
                                        "SparseApplyProximalGradientDescent",
                                        "SparseApplyRMSProp",
                                        "SparseSoftmaxCrossEntropyWithLogits",
                                        "Sqrt",
                                        "SqrtGrad",
                                        "Square",
                                        "SquaredDifference",
                                        "Sub",
                                        "Sum",
                                        "SumToShape",
                                        "Tan",
                                        "Tanh",
                                        "TanhGrad",
                                        "TensorScatterAdd",
                                        "TensorScatterSub",
                                        "TopKV2",
                                        "TruncateDiv",
                                        "TruncateMod",
                                        "TruncatedNormal",
                                        "Unique",
                                        "UniqueWithCounts",
                                        "UnsortedSegmentMax",
                                        "UnsortedSegmentMin",
                                        "UnsortedSegmentProd",
                                        "UnsortedSegmentSum",
                                        "Xdivy",
                                        "Xlog1py",
                                        "Xlogy"};

/// The dtype attribute of each input, "" for those of a fixed dtype and for lists of dtypes.
std::vector<std::string_view> dtype_attributes(const OpDef& op, std::size_t inputs) {
  const std::vector<ArgDef>& arguments = op.signature.inputs;
  std::vector<std::string_view> attributes;
  for (const ArgDef& argument : arguments) {
    // At most one argument is a list; it takes what the others leave.
    const std::size_t count = argument.is_list() ? inputs + 1 - arguments.size() : 1;
    attributes.insert(attributes.end(), count, argument.type_attr);
  }
  attributes.resize(inputs);
  return attributes;
}

/// A short dtype for which a dtype attribute stands.
struct ShortAttribute {
  std::string_view name;
  DType dtype;
};

/// Returns the attributes that are short dtypes. An attribute whose inputs differ is left out: the
/// rule then refuses them.
std::vector<ShortAttribute> short_attributes(const OpDef& op, const InferenceContext& context) {
  const std::size_t inputs = context.num_inputs();
  const auto names = dtype_attributes(op, inputs);
  std::vector<ShortAttribute> found;
  for (std::size_t i = 0; i < inputs; ++i) {
    // U is the dtype of the statistics of a batch normalisation, which stays float32.
    if (names[i].empty() || names[i] == "U" || !is_short_float(context.dtype(i))) continue;
    const auto same = [&](const ShortAttribute& other) { return other.name == names[i]; };
    if (std::any_of(found.begin(), found.end(), same)) continue;
    bool agree = true;
    for (std::size_t k = 0; k < inputs; ++k) {
      agree = agree && (names[k] != names[i] || context.dtype(k) == context.dtype(i));
    }
    if (agree) found.push_back({names[i], context.dtype(i)});
  }
  return found;
}

const ShortAttribute* find(const std::vector<ShortAttribute>& all, std::string_view name) {
  const auto at = std::find_if(all.begin(), all.end(),
                               [name](const ShortAttribute& one) { return one.name == name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

bool takes_short_floats(const OpDef& op) {
  return std::binary_search(std::begin(kTaking), std::end(kTaking), std::string_view(op.name));
}

std::vector<OutputSpec> infer_outputs(const OpDef& op, InferenceContext& context) {
  const std::vector<ShortAttribute> shorts =
      takes_short_floats(op) ? short_attributes(op, context) : std::vector<ShortAttribute>();
  if (shorts.empty()) {
    op.shape(context);
    return context.take_outputs();
  }
  const auto names = dtype_attributes(op, context.num_inputs());
  std::vector<OutputSpec> inputs;
  std::vector<const Array*> constants;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const bool widens = find(shorts, names[i]) != nullptr;
    const DType dtype = context.dtype(i);
    inputs.push_back({widens ? widened(dtype) : dtype, context.shape(i), context.is_ref(i)});
    constants.push_back(widens ? nullptr : context.constant(i));
  }
  InferenceContext wide(context.all_attrs(), inputs, constants);
  op.shape(wide);
  std::vector<OutputSpec> outputs = wide.take_outputs();
  for (std::size_t i = 0; i < outputs.size() && i < op.signature.outputs.size(); ++i) {
    const ShortAttribute* own = find(shorts, op.signature.outputs[i].type_attr);
    if (own != nullptr) outputs[i].dtype = own->dtype;
  }
  return outputs;
}

}  // namespace towerflow
