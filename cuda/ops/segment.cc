// Rows combined by their ids, in the order of the rows.
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string>

#include "core/graph/error.h"
#include "cuda/ops/key_sort.h"

namespace towerflow::cuda {
namespace {

template <class T>
device::PadValue number_of(T number) {
  device::PadValue value;
  std::memcpy(value.bytes, &number, sizeof number);
  return value;
}

/// Returns the value from which the rows of a segment are combined.
template <class T>
device::PadValue start_of(std::string_view rule) {
  if (rule == "Prod") return number_of(T(1));
  if (rule == "Max") return number_of(std::numeric_limits<T>::lowest());
  if (rule == "Min") return number_of(std::numeric_limits<T>::max());
  return number_of(T(0));
}

device::PadValue start_of(std::string_view rule, DType dtype) {
  switch (dtype) {
    case DType::float64:
      return start_of<double>(rule);
    case DType::int32:
      return start_of<std::int32_t>(rule);
    case DType::int64:
      return start_of<std::int64_t>(rule);
    default:
      return start_of<float>(rule);
  }
}

std::unique_ptr<PreparedKernel> prepare_unsorted_segment(Device& device,
                                                         const KernelRequest& request) {
  constexpr std::string_view kPrefix = "Unsorted";
  const std::string name = request.op->name.substr(kPrefix.size());  // SegmentSum ..
  const std::string rule = name.substr(std::string_view("Segment").size());
  const TensorDesc &y = request.outputs[0], &ids = request.inputs[1];
  const std::int64_t segments = y.shape.size(0), n = ids.shape.elements();
  const std::int64_t elements = y.shape.elements();
  std::int64_t width = 1;
  for (std::size_t d = 1; d < y.shape.rank(); ++d) width *= y.shape.size(d);
  if (request.inputs[0].shape.elements() != n * width) {
    throw errors::InvalidArgumentError(
        fmt::format("segment ids of shape {} do not fit data of shape {}", ids.shape.text(),
                    request.inputs[0].shape.text()));
  }
  check_32_bits(segments, request.op->name.c_str());
  const KeySort sort(device, n, request.op->name.c_str());
  const CudaQueue::MakeError make_error = [segments](const device::DataError& found) {
    return std::make_exception_ptr(
        errors::InvalidArgumentError(fmt::format("segment_ids[{}] = {} is out of range [0, {})",
                                                 found.position(), found.value(), segments)));
  };
  return make_kernel(
      [=, start = start_of(rule, y.dtype), fill = device.kernel(copy_kernel_name("Fill", y.dtype)),
       keys = device.kernel(kernel_name("SortKeys", ids.dtype)),
       combine = device.kernel(kernel_name(name, y.dtype))](CudaQueue& queue,
                                                            const LaunchArgs& args) {
        constexpr int kFromResult = 1;
        launch(queue, fill, blocks_for(queue.device(), elements), args.outputs[0], elements, start);
        if (n == 0) return;
        KeySort::Rows sorted = sort.begin(args.workspace);
        launch(queue, keys, blocks_for(queue.device(), n), args.inputs[1], sorted.keys, sorted.rows,
               queue.error_record(make_error), n, segments);
        sorted = sort.run(queue, sorted, args.workspace, bits_of(segments));
        if (width == 0) return;
        launch(queue, combine, blocks_for(queue.device(), n * width), args.inputs[0], sorted.keys,
               sorted.rows, args.outputs[0], n, width, segments, kFromResult);
      },
      {.workspace = sort.workspace_bytes(), .checks_data = true});
}

}  // namespace

void add_segment_kernels(CudaEntries& entries) {
  for (const char* op :
       {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    entries.push_back({op,
                       "cuda",
                       takes({DType::float32, DType::float64, DType::int32, DType::int64}),
                       prepare_unsorted_segment,
                       {2}});
  }
}

}  // namespace towerflow::cuda
