// The cases of the op table in float16 and bfloat16: results and gradients against those in float32
// of the same numbers. TOWERFLOW_TEST_DEVICE and TOWERFLOW_TEST_CASE as in cases_test.cc.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/graph/short_float.h"
#include "core/graph/widening.h"
#include "tests/ops/cases/build_case.h"
#include "tests/ops/cases/check.h"

using namespace towerflow;
using testing::BuiltCase;
using testing::OpCase;

namespace {

/// Returns the operands of a case with the numbers that they have in a short dtype, in float32.
std::vector<Array> rounded_operands(const OpCase& one, DType dtype) {
  std::vector<Array> all = testing::case_arrays(one.inputs, dtype);
  for (Array& array : all) {
    if (is_short_float(array.dtype())) array = widened(array);
  }
  return all;
}

std::vector<Array> values(BuiltCase& built, const std::vector<Array>& operands,
                          const ConfigProto& config) {
  Session session(built.graph(), config);
  if (!built.initializers().empty()) session.run(built.initializers());
  const std::vector<Fetch> fetches(built.tensors().begin(), built.tensors().end());
  return session.run(fetches, built.feeds(operands));
}

/// Adds the ops of a graph that compute short floats.
void add_short_ops(const Graph& graph, std::set<std::string>& ops) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Operation op = graph.operation(i);
    for (const auto& tensors : {op.inputs(), op.outputs()}) {
      for (const Tensor& tensor : tensors) {
        if (is_short_float(tensor.dtype())) ops.insert(op.type());
      }
    }
  }
}

bool starts_with_one_of(const std::string& name, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

/// Cases with an op that TensorFlow does not define for both short dtypes, or whose operands are
/// float32 whatever the images are. So is Polygamma, in the gradient of the first.
bool is_refused(const std::string& name) {
  if (name == "Lgamma" || name == "Digamma" || name == "Polygamma") return true;
  return starts_with_one_of(
      name, {"nce_loss", "sampled_softmax_loss", "DenseBincount of weights", "HistogramFixedWidth",
             "Linspace", "InTopKV2", "FusedBatchNorm", "ResizeBicubic", "CropAndResize",
             "DrawBoundingBoxes", "ImageSummary of floats", "ImageSummary of NaN",
             "ImageSummary of zeros"});
}

/// Cases whose numbers differ for a reason: random ones; results above 65,504, or an epsilon of
/// 1e-8, which is zero; 1 - 0.999, which is zero in bfloat16; a function that knows float32 only.
bool differs(const std::string& name) {
  return starts_with_one_of(
      name, {"Random", "_RandomPosition", "Pow", "Prod", "RGBToHSV",
             "_FusedConv2D of many channels", "convert_image_dtype of floats to integers",
             "ApplyAdam", "_MeanApplyAdam", "SparseApplyAdam", "_MeanSparseApplyAdam", "PyFunc"});
}

}  // namespace

TEST_CASE("every case in float16 and bfloat16, against float32") {
  const std::string device = testing::device_under_test();
  const std::string only = testing::cases_under_test();
  std::set<std::string> ops;
  int named = 0;
  for (const OpCase& one : testing::op_cases()) {
    const auto& dtypes = one.dtypes;
    if (!one.name.starts_with(only)) continue;
    ++named;
    if (std::find(dtypes.begin(), dtypes.end(), DType::float32) == dtypes.end()) continue;
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      CAPTURE(one.name);
      CAPTURE(dtype_name(dtype));
      if (is_refused(one.name)) {
        CHECK_THROWS_AS(BuiltCase(one, {.dtype = dtype, .device = device}), TypeError);
        continue;
      }
      BuiltCase small(one, {.dtype = dtype, .device = device});
      add_short_ops(small.graph(), ops);
      const std::vector<Array> found =
          values(small, testing::case_arrays(one.inputs, dtype), testing::device_config(device));
      if (differs(one.name)) continue;
      BuiltCase wide(one, {.dtype = DType::float32});
      const std::vector<Array> expected = values(wide, rounded_operands(one, dtype), {});
      REQUIRE(found.size() == expected.size());
      // Each op of a call and of its gradients rounds once: to 11 or to 8 bits.
      const double tolerance = dtype == DType::float16 ? 4e-3 : 3e-2;
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(testing::difference(found[i], expected[i]) < tolerance);
      }
    }
  }
  CHECK(named > 0);
  if (!only.empty()) return;
  for (const OpDef* op : OpRegistry::global().all()) {
    if (!takes_short_floats(*op)) continue;
    const bool elsewhere = op->name.starts_with("FusedBatchNorm") || op->name == "Lgamma";
    CHECK_MESSAGE((elsewhere || ops.contains(op->name)), op->name);
  }
}
