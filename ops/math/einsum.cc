#include "ops/math/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/graph/op_builder.h"
#include "ops/array/operands.h"
#include "ops/family.h"
#include "ops/math/einsum_kernels.h"
#include "ops/math/einsum_labels.h"

namespace towerflow {

/// Defined in einsum_gradient.cc.
std::vector<OptionalGradient> einsum_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys);

namespace {

bool einsum_accepts(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::int32 ||
         dtype == DType::int64;
}

/// Returns the shape of the result of operands of known ranks.
Shape einsum_result(const InferenceContext& context, const std::vector<Shape>& shapes,
                    const EinsumLabels& labels) {
  std::map<int, Dim> sizes;
  for (std::size_t i = 0; i < labels.inputs.size(); ++i) {
    for (std::size_t k = 0; k < labels.inputs[i].size(); ++k) {
      const int label = labels.inputs[i][k];
      const Dim size = shapes[i][k];
      const auto [at, added] = sizes.try_emplace(label, size);
      if (added || !size.known()) {
        // Of two sizes that broadcast, one that is not known may be larger than 1.
        if (!added && label < 0 && at->second.known() && at->second.size() == 1) at->second = size;
        continue;
      }
      Dim& known = at->second;
      if (!known.known()) {
        if (label >= 0 || size.size() != 1) known = size;
      } else if (label < 0 && known.size() == 1) {
        known = size;
      } else if (known != size && !(label < 0 && size.size() == 1)) {
        context.fail(fmt::format("the sizes of one axis of an einsum differ: {} and {}",
                                 known.size(), size.size()));
      }
    }
  }
  std::vector<Dim> dims;
  for (const int label : labels.output) {
    const auto at = sizes.find(label);
    if (at == sizes.end()) context.fail("the result of an einsum has an axis that no input has");
    dims.push_back(at->second);
  }
  return Shape(std::move(dims));
}

void einsum_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  const std::string& equation = context.attrs<EinsumAttrs>().equation;
  const std::vector<std::string> parts = einsum_parts(equation);
  std::vector<Shape> shapes;
  std::vector<std::size_t> ranks;
  bool hides = false;  // whether "..." stands for an unknown number of axes
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (!einsum_accepts(dtype) || context.dtype(i) != dtype) {
      context.fail_type(
          fmt::format("an einsum takes float32, float64, int32 or int64, the same for "
                      "all inputs; input {} is {}",
                      i, dtype_name(context.dtype(i))));
    }
    Shape shape = context.shape(i);
    if (!shape.has_rank()) {  // the equation tells the rank, but for hidden axes
      const std::string part = i < parts.size() ? parts[i] : "";
      const bool hidden = part.find("...") != std::string::npos;
      hides = hides || hidden;
      shape = Shape::of_rank(part.size() - (hidden ? 3 : 0));
    }
    ranks.push_back(shape.rank());
    shapes.push_back(std::move(shape));
  }
  if (ranks.empty() || ranks.size() > 2) context.fail("an Einsum has one or two inputs");
  const Shape result = einsum_result(context, shapes, EinsumLabels(equation, ranks));
  const bool is_open = hides && parts.back().find("...") != std::string::npos;
  context.add_output(dtype, is_open ? Shape::unknown() : result);
}

[[noreturn]] void fail_equation(const std::string& message, Site site) {
  throw ValueError(
      message,
      {.site = site, .op = "Einsum", .hint = "an equation is written like \"bij,bjk->bik\""});
}

constexpr char kHidden = '0';  ///< stands for "..." while an equation is read

/// An equation with `kHidden` for "...".
struct ReadEquation {
  std::vector<std::string> inputs;
  std::string output;
};

/// Returns the labels that occur once, in order: the result of an equation without "->".
std::string implied_output(const std::string& inputs) {
  std::map<char, int> counts;
  for (const char letter : inputs) ++counts[letter];
  std::string output;
  for (const auto& [letter, count] : counts) {
    if (count == 1 && letter != ',') output += letter;
  }
  return output;
}

ReadEquation read_equation(std::string_view equation, std::size_t operands, Site site) {
  std::string text;
  for (std::size_t i = 0; i < equation.size(); ++i) {
    if (equation[i] == ' ') continue;
    const bool hides = equation.substr(i).starts_with("...");
    if (hides) i += 2;
    text += hides ? kHidden : equation[i];
  }
  const std::size_t arrow = text.find("->");
  const std::string before = text.substr(0, arrow);
  const std::string after = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  const auto readable = [](const std::string& part, bool commas) {
    return std::all_of(part.begin(), part.end(), [commas](unsigned char c) {
      return std::isalpha(c) != 0 || c == kHidden || (commas && c == ',');
    });
  };
  if (!readable(before, true) || !readable(after, false)) {
    fail_equation(fmt::format("Subscripts have incorrect format: {}", equation), site);
  }
  ReadEquation read;
  read.inputs = einsum_parts(before);
  read.output = arrow == std::string::npos ? implied_output(before) : after;
  if (read.inputs.size() != operands) {
    fail_equation(fmt::format("Got {} inputs for equation \"{}\", expecting {}", operands, equation,
                              read.inputs.size()),
                  site);
  }
  for (const char label : read.output) {
    if (std::count(read.output.begin(), read.output.end(), label) > 1) {
      fail_equation(
          fmt::format("Output subscripts contain a label appearing more than once: {}", equation),
          site);
    }
    if (label != kHidden && before.find(label) == std::string::npos) {
      fail_equation(fmt::format("Output subscripts contain the label {} not present in the input "
                                "subscripts.",
                                label),
                    site);
    }
  }
  return read;
}

std::string with_dots(const std::string& labels) {
  std::string text;
  for (const char label : labels) text += label == kHidden ? "..." : std::string(1, label);
  return text;
}

Tensor einsum_node(const std::vector<Tensor>& inputs, const std::vector<std::string>& labels,
                   const std::string& output, Site site) {
  std::string equation;
  for (const std::string& one : labels) equation += (equation.empty() ? "" : ",") + with_dots(one);
  if (labels.size() == 2 && labels[0].empty()) equation = "," + with_dots(labels[1]);
  return OpBuilder("Einsum", "", site, {})
      .inputs(inputs, "inputs")
      .attrs(EinsumAttrs{equation + "->" + with_dots(output)})
      .output();
}

/// Returns the labels of the product of the first two operands: those that a later operand or the
/// result has.
std::string kept_labels(const ReadEquation& read, const std::string& first, std::size_t second) {
  std::string needed = read.output;
  for (std::size_t i = second + 1; i < read.inputs.size(); ++i) needed += read.inputs[i];
  std::string kept;
  for (const char label : first + read.inputs[second]) {
    if (needed.find(label) != std::string::npos && kept.find(label) == std::string::npos) {
      kept += label;
    }
  }
  return kept;
}

}  // namespace

static void register_einsum_ops(OpRegistry& registry) {
  registry.add({.name = "Einsum",
                .inputs = {"inputs: N * T"},
                .outputs = {"output: T"},
                .attrs = attributes<EinsumAttrs>(),
                .shape = einsum_shape,
                .gradient = einsum_gradient});
}

OpFamily einsum_family() {
  return {.ops = register_einsum_ops, .kernels = register_einsum_kernels};
}

Tensor einsum(std::string_view equation, const OperandList& inputs, EinsumOptions options,
              Site site) {
  Graph& graph = graph_of(inputs);
  const NameScope scope(graph, options.name.empty() ? "einsum" : options.name, site);
  const ReadEquation read = read_equation(equation, inputs.size(), site);
  const std::vector<Tensor> operands = same_dtype_inputs(graph, inputs, "Einsum", "inputs", site);
  if (operands.size() <= 2) return einsum_node(operands, read.inputs, read.output, site);
  Tensor product = operands[0];
  std::string labels = read.inputs[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const bool last = i + 1 == operands.size();
    const std::string kept = last ? read.output : kept_labels(read, labels, i);
    product = einsum_node({product, operands[i]}, {labels, read.inputs[i]}, kept, site);
    labels = kept;
  }
  return product;
}

}  // namespace towerflow
