#include "cuda/backend/dnn_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/graph/error.h"
#include "cuda/backend/check.h"
#include "cuda/backend/plan_table.h"
#include "cuda/backend/plan_timer.h"

namespace towerflow::cuda {
namespace {

using Descriptor = cudnnBackendDescriptor_t;

/// The heuristics that are asked for engines, the first first. What the first one proposes may all
/// be unsuitable; the last one proposes what computes most convolutions, slowly.
constexpr cudnnBackendHeurMode_t kModes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B,
                                             CUDNN_HEUR_MODE_FALLBACK};

/// Returns whether an engine may compute the convolution. What carries the first three notes
/// rounds float32 to fewer digits; FFT costs the host too much.
bool suits(const std::vector<cudnnBackendNumericalNote_t>& notes, const DnnConvolutionSpec& spec) {
  return std::none_of(notes.begin(), notes.end(), [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return spec.dtype == DType::float32;
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return true;
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return !spec.winograd;
      default:
        return false;
    }
  });
}

/// Returns a plan of a configuration; none if its engine does not suit or cuDNN refuses it.
DnnPlan try_plan(Device& device, DnnDescriptors& made, const DnnConvolutionSpec& spec,
                 Descriptor configuration) {
  if (!suits(made.notes(configuration), spec)) return {};
  const Descriptor plan = made.try_plan(configuration, device.dnn());
  if (plan == nullptr) return {};
  return {plan, static_cast<std::size_t>(made.workspace_bytes(plan))};
}

DnnPlan first_plan(Device& device, DnnDescriptors& made, const DnnConvolutionSpec& spec,
                   Descriptor graph) {
  for (const auto mode : kModes) {
    for (const Descriptor proposal : made.proposals(graph, mode)) {
      const DnnPlan plan = try_plan(device, made, spec, proposal);
      if (plan.plan != nullptr) return plan;
    }
  }
  throw errors::UnimplementedError(
      "cuDNN has no deterministic engine in full precision for this convolution",
      {.hint = "place the operation on a CPU with tf::device(\"/cpu:0\")"});
}

/// Returns the plan of an entry; none if it does not suit or cuDNN refuses it.
DnnPlan plan_of(Device& device, DnnDescriptors& made, const DnnConvolutionSpec& spec,
                Descriptor graph, const ConvolutionPlan& entry) {
  const Descriptor configuration = made.configuration(graph, {entry.engine, entry.knobs});
  return configuration == nullptr ? DnnPlan{} : try_plan(device, made, spec, configuration);
}

/// Returns what tells whether plans that were measured elsewhere hold here too.
std::string name_of(const Device& device) {
  const cudaDeviceProp& card = device.properties();
  const auto version = device.table().cudnnGetVersion();
  return fmt::format("{}, compute capability {}.{}, cuDNN {}.{}.{}",
                     device.driver().emulated() ? "host emulation" : card.name, card.major,
                     card.minor, version / 10000, version / 100 % 100, version % 100);
}

/// Times all plans that suit. Throws UnimplementedError if there is none.
ConvolutionPlan measure(Device& device, const DnnConvolutionSpec& spec, Descriptor graph) {
  ConvolutionPlan best{.device = name_of(device),
                       .convolution = to_text(spec),
                       .milliseconds = std::numeric_limits<double>::infinity()};
  PlanTimer timer(device, spec);
  std::set<EngineChoice> seen;
  for (const auto mode : kModes) {
    DnnDescriptors made(device);  // without those of the other plans
    for (const Descriptor proposal : made.proposals(graph, mode)) {
      EngineChoice choice = made.choice(proposal);
      if (!seen.insert(choice).second) continue;
      const DnnPlan plan = try_plan(device, made, spec, proposal);
      if (plan.plan == nullptr) continue;
      const std::optional<double> taken = timer.time(plan, best.milliseconds);
      if (!taken) continue;
      if (best.timed++ == 0) best.first_milliseconds = *taken;
      if (*taken >= best.milliseconds) continue;
      best.milliseconds = *taken;
      best.engine = choice.engine;
      best.knobs = std::move(choice.knobs);
    }
  }
  if (best.timed == 0) {
    throw errors::UnimplementedError(
        "cuDNN has no deterministic engine in full precision for this convolution that works here",
        {.hint = "place the operation on a CPU with tf::device(\"/cpu:0\")"});
  }
  return best;
}

DnnPlan planned(Device& device, DnnDescriptors& made, const DnnConvolutionSpec& spec,
                Descriptor graph, PlanTable& table) {
  const std::unique_lock measuring(table.measuring());
  const std::string name = name_of(device), convolution = to_text(spec);
  const std::optional<ConvolutionPlan> found = table.find(name, convolution);
  if (found) {
    const DnnPlan plan = plan_of(device, made, spec, graph, *found);
    if (plan.plan != nullptr) return plan;
    if (!table.measures()) {
      throw errors::InvalidArgumentError(
          fmt::format("engine {} in '{}' is none that may compute '{}'", found->engine,
                      table.path(), convolution),
          {.hint = "run 'towerflow tune' again; engines must be deterministic, and have the full "
                   "precision of float32"});
    }
  } else if (!table.measures()) {
    return first_plan(device, made, spec, graph);
  }
  const ConvolutionPlan best = measure(device, spec, graph);
  table.add(best);
  return plan_of(device, made, spec, graph, best);
}

}  // namespace

void DnnPlan::execute(Device& device, cudnnHandle_t handle,
                      const std::array<const void*, 4>& memory, const void* scratch) const {
  const std::int64_t uids[] = {kX, kW, kY, kBias};
  const std::int64_t count = memory[3] == nullptr ? 3 : 4;
  DnnDescriptors made(device);
  const Descriptor pack = made.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  made.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uids);
  made.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, memory.data());
  const void* const used = workspace == 0 ? nullptr : scratch;
  made.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, used);
  made.finalize(pack);
  TOWERFLOW_CUDA(device.table(), cudnnBackendExecute(handle, plan, pack));
}

DnnPlan choose_plan(Device& device, DnnDescriptors& made, const DnnConvolutionSpec& spec,
                    Descriptor graph) {
  const std::shared_ptr<PlanTable>& table = device.plan_table();
  return table == nullptr ? first_plan(device, made, spec, graph)
                          : planned(device, made, spec, graph, *table);
}

std::string to_text(const DnnConvolutionSpec& spec) {
  using Kind = DnnConvolutionSpec::Kind;
  const ConvGeometry& g = spec.geometry;
  const WindowAxis &rows = g.rows, &columns = g.columns;
  const char* const kind = spec.kind == Kind::data_gradient     ? "data gradient"
                           : spec.kind == Kind::weight_gradient ? "weight gradient"
                           : spec.relu                          ? "forward with bias and relu"
                           : spec.bias                          ? "forward with bias"
                                                                : "forward";
  const std::string images =
      g.channels_first
          ? fmt::format("NCHW {}x{}x{}x{}", g.batch, g.in_channels, rows.input, columns.input)
          : fmt::format("NHWC {}x{}x{}x{}", g.batch, rows.input, columns.input, g.in_channels);
  return fmt::format(
      "{} {} {}, filter {}x{}x{}x{}, stride {}x{}, dilation {}x{}, padding {},{},{},{}{}", kind,
      dtype_name(spec.dtype), images, rows.window, columns.window, g.in_channels / g.groups,
      g.out_channels, rows.stride, columns.stride, rows.dilation, columns.dilation, rows.pad_before,
      rows.pad_after, columns.pad_before, columns.pad_after,
      spec.winograd ? "" : ", without Winograd");
}

}  // namespace towerflow::cuda
