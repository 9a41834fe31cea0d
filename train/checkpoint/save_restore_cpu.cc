#include <fmt/format.h>

#include <algorithm>

#include "core/device/backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/nearest.h"
#include "ops/family.h"
#include "train/checkpoint/bundle_format.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/bundle_writer.h"
#include "train/checkpoint/save_restore.h"

namespace towerflow {
namespace {

constexpr std::size_t kBeforeTensors = 3;  // prefix, tensor_names, shape_and_slices

void check_unsliced(const LaunchArgs& args, std::size_t tensors) {
  const std::string* slices = args.input<std::string>(2);
  const auto sliced =
      std::find_if(slices, slices + tensors, [](const auto& text) { return !text.empty(); });
  if (sliced == slices + tensors) return;
  const std::string& name = args.input<std::string>(1)[sliced - slices];
  throw errors::UnimplementedError(
      fmt::format("{} is requested in slices ({}), but tensors are saved and restored whole",
                  quoted_name(name), *sliced));
}

std::unique_ptr<PreparedKernel> save_kernel(const KernelRequest& request) {
  const std::vector<TensorDesc> tensors(request.inputs.begin() + kBeforeTensors,
                                        request.inputs.end());
  return function_kernel([tensors](const LaunchArgs& args) {
    check_unsliced(args, tensors.size());
    TensorBundleWriter writer(*args.input<std::string>(0));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::shared_ptr<void> lent(const_cast<void*>(args.inputs[kBeforeTensors + i]),
                                       [](void*) {});
      writer.add(args.input<std::string>(1)[i], Array(tensors[i].dtype, tensors[i].shape, lent));
    }
    writer.finish();
  });
}

/// Throws NotFoundError naming all missing tensors. Called before the first value is read.
void check_names_found(const TensorBundleReader& reader, std::span<const std::string> names) {
  std::vector<std::string> missing, known;
  for (const std::string& name : names) {
    if (!reader.contains(name)) missing.push_back(name);
  }
  if (missing.empty()) return;
  for (const TensorInfo& info : reader.tensors()) known.push_back(info.name);
  std::string hint = nearest_hint(missing[0], known);
  if (missing.size() > 1) {
    const std::size_t shown = std::min<std::size_t>(missing.size(), 10);
    hint = fmt::format("{} of {} keys are missing: '{}'{}{}{}", missing.size(), names.size(),
                       fmt::join(missing.begin(), missing.begin() + shown, "', '"),
                       shown < missing.size() ? ", ..." : "", hint.empty() ? "" : "; ", hint);
  }
  throw errors::NotFoundError(fmt::format("Key {} not found in checkpoint", missing[0]),
                              {.hint = std::move(hint)});
}

void check_dtype_and_shape(const TensorInfo& found, const TensorDesc& wanted,
                           const std::string& prefix) {
  if (found.dtype != wanted.dtype) {
    throw errors::InvalidArgumentError(
        fmt::format("tensor_name = {}; expected dtype {} does not equal original dtype {}",
                    found.name, dtype_name(wanted.dtype), dtype_name(found.dtype)));
  }
  if (!wanted.shape.compatible(found.shape)) {
    throw errors::InvalidArgumentError(
        fmt::format("Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
                    wanted.shape.text(), found.shape.text()),
        {.hint = fmt::format("'{}' has the shape {} in the graph, {} in the checkpoint {}",
                             found.name, wanted.shape.text(), found.shape.text(), prefix)});
  }
}

void copy_out(const Array& value, void* to) {
  if (value.dtype() == DType::string) {
    std::copy_n(value.data<std::string>(), value.elements(), static_cast<std::string*>(to));
  } else if (value.bytes() > 0) {
    std::memcpy(to, value.raw(), value.bytes());
  }
}

std::unique_ptr<PreparedKernel> restore_kernel(const KernelRequest& request) {
  return function_kernel([wanted = request.outputs](const LaunchArgs& args) {
    check_unsliced(args, wanted.size());
    const std::string& prefix = *args.input<std::string>(0);
    const std::span names(args.input<std::string>(1), wanted.size());
    const TensorBundleReader reader(prefix);
    check_names_found(reader, names);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      check_dtype_and_shape(reader.info(names[i]), wanted[i], prefix);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Array value = reader.read(names[i]);
      void* to = args.outputs[i];
      if (!wanted[i].shape.fully_known()) to = args.arrays->allocate(i, value.shape());
      copy_out(value, to);
    }
  });
}

}  // namespace

static void register_checkpoint_kernels(KernelTable& table) {
  table.add({.op = "SaveV2", .label = "bundle", .accepts = {}, .prepare = save_kernel});
  table.add({.op = "RestoreV2", .label = "bundle", .accepts = {}, .prepare = restore_kernel});
}

OpFamily save_restore_cpu_family() { return {.kernels = register_checkpoint_kernels}; }

}  // namespace towerflow
