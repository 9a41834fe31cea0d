// Resized images and their gradients. What each row and column is made of is computed on the host
// and lies in device memory.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
#include "ops/image/resized_images.h"

namespace towerflow::cuda {
namespace {

using image::PixelCenters;
using image::ResizedImages;
using image::Taps;

/// Device memory with numbers that kernels read.
class DeviceNumbers {
 public:
  explicit DeviceNumbers(Device& device) : device_(device.shared_from_this()) {}
  DeviceNumbers(const DeviceNumbers&) = delete;
  DeviceNumbers& operator=(const DeviceNumbers&) = delete;

  template <class T>
  const T* upload(const std::vector<T>& numbers) {
    const Table& table = device_->table();
    const std::size_t bytes = numbers.size() * sizeof(T);
    void* const memory = made_.emplace_back(device_->allocate(bytes)).get();
    if (bytes == 0) return static_cast<const T*>(memory);
    const Stream stream = device_->take_stream();
    TOWERFLOW_CUDA(table, cudaMemcpyAsync(memory, numbers.data(), bytes, cudaMemcpyHostToDevice,
                                          stream.stream));
    TOWERFLOW_CUDA(table, cudaStreamSynchronize(stream.stream));
    device_->give_back(stream);
    return static_cast<const T*>(memory);
  }

 private:
  std::shared_ptr<Device> device_;
  std::vector<std::shared_ptr<void>> made_;
};

std::vector<std::int32_t> narrowed(const std::vector<std::int64_t>& numbers) {
  if (!numbers.empty()) check_32_bits(numbers.back(), "a resized image");
  return {numbers.begin(), numbers.end()};
}

device::Resampled::Taps uploaded_taps(DeviceNumbers& numbers, const Taps& taps) {
  return {.first = numbers.upload(narrowed(taps.first)),
          .index = numbers.upload(narrowed(taps.index)),
          .weight = numbers.upload(taps.weight)};
}

/// A kernel that makes images of one size from those of another.
std::unique_ptr<PreparedKernel> resampling_kernel_of(Device& device, const std::string& kernel_name,
                                                     device::Resampled shape, const Taps& rows,
                                                     const Taps& columns) {
  const auto numbers = std::make_shared<DeviceNumbers>(device);
  shape.new_height = static_cast<int>(rows.outputs());
  shape.new_width = static_cast<int>(columns.outputs());
  shape.rows = uploaded_taps(*numbers, rows);
  shape.columns = uploaded_taps(*numbers, columns);
  const std::int64_t n =
      std::int64_t{shape.images} * shape.new_height * shape.new_width * shape.channels;
  return make_kernel([numbers, kernel = device.kernel(kernel_name), shape, n](
                         CudaQueue& queue, const LaunchArgs& args) {
    if (n == 0) return;
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], shape);
  });
}

/// The sizes of images before they are resized.
device::Resampled resampled(std::int64_t images, std::int64_t height, std::int64_t width,
                            std::int64_t channels) {
  check_32_bits(images, "a resized image");
  check_32_bits(channels, "a resized image");
  device::Resampled made;
  made.images = static_cast<int>(images);
  made.height = static_cast<int>(height);
  made.width = static_cast<int>(width);
  made.channels = static_cast<int>(channels);
  return made;
}

using TapsOf = Taps (*)(std::int64_t in, std::int64_t out, PixelCenters centers);

Taps area_taps_by_centers(std::int64_t in, std::int64_t out, PixelCenters centers) {
  return image::area_taps(in, out, centers.align_corners);
}

template <TapsOf kTaps>
std::unique_ptr<PreparedKernel> prepare_resize(Device& device, const KernelRequest& request) {
  const PixelCenters centers = image::centers_of(*request.attrs);
  image::check_pixel_centers(centers);
  const ResizedImages s(request.inputs[0].shape, request.values.at(1));
  return resampling_kernel_of(
      device, fmt::format("Resample_{}_float32", dtype_name(request.inputs[0].dtype)),
      resampled(s.number, s.height, s.width, s.channels), kTaps(s.height, s.new_height, centers),
      kTaps(s.width, s.new_width, centers));
}

/// The gradient sends what each pixel of the result received back to the image.
template <TapsOf kTaps>
std::unique_ptr<PreparedKernel> prepare_resize_grad(Device& device, const KernelRequest& request) {
  const PixelCenters centers = image::centers_of(*request.attrs);
  image::check_pixel_centers(centers);
  const Shape &dy = request.inputs[0].shape, &original = request.inputs[1].shape;
  const ResizedImages s(original, dy);
  if (dy.size(0) != s.number || dy.size(3) != s.channels) {
    throw errors::InvalidArgumentError(fmt::format(
        "grads of shape {} do not fit original images of shape {}", dy.text(), original.text()));
  }
  return resampling_kernel_of(
      device, fmt::format("Resample_float32_{}", dtype_name(request.outputs[0].dtype)),
      resampled(s.number, s.new_height, s.new_width, s.channels),
      kTaps(s.height, s.new_height, centers).transposed(s.height),
      kTaps(s.width, s.new_width, centers).transposed(s.width));
}

std::unique_ptr<PreparedKernel> prepare_nearest(Device& device, const KernelRequest& request) {
  const PixelCenters centers = image::centers_of(*request.attrs);
  const ResizedImages s(request.inputs[0].shape, request.values.at(1));
  return resampling_kernel_of(device, copy_kernel_name("ResizeNearest", request.inputs[0].dtype),
                              resampled(s.number, s.height, s.width, s.channels),
                              image::nearest_taps(s.height, s.new_height, centers),
                              image::nearest_taps(s.width, s.new_width, centers));
}

std::unique_ptr<PreparedKernel> prepare_nearest_grad(Device& device, const KernelRequest& request) {
  const PixelCenters centers = image::centers_of(*request.attrs);
  // The sizes of the gradient, which is made smaller or larger like the image, are those of dy.
  const ResizedImages s(request.inputs[0].shape, request.values.at(1));
  const char* dtype = dtype_name(request.inputs[0].dtype);
  return resampling_kernel_of(
      device, fmt::format("Resample_{}_{}", dtype, dtype),
      resampled(s.number, s.height, s.width, s.channels),
      image::nearest_taps(s.new_height, s.height, centers).transposed(s.new_height),
      image::nearest_taps(s.new_width, s.width, centers).transposed(s.new_width));
}

}  // namespace

void add_resize_kernels(CudaEntries& entries) {
  const auto numbers =
      takes({DType::float32, DType::float64, DType::uint8, DType::int32, DType::int64});
  const auto floats = takes({DType::float32, DType::float64}, 1);
  entries.push_back({"ResizeBilinear", "cuda", numbers, prepare_resize<image::bilinear_taps>});
  entries.push_back({"ResizeBicubic", "cuda", numbers, prepare_resize<image::bicubic_taps>});
  entries.push_back({"ResizeArea", "cuda", numbers, prepare_resize<area_taps_by_centers>});
  entries.push_back({"ResizeNearestNeighbor", "cuda", {}, prepare_nearest});
  entries.push_back(
      {"ResizeBilinearGrad", "cuda", floats, prepare_resize_grad<image::bilinear_taps>});
  entries.push_back(
      {"ResizeBicubicGrad", "cuda", floats, prepare_resize_grad<image::bicubic_taps>});
  entries.push_back({"ResizeNearestNeighborGrad", "cuda", takes({DType::float32, DType::float64}),
                     prepare_nearest_grad});
}

}  // namespace towerflow::cuda
