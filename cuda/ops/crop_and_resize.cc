// Crops of images that are resized to one size, and their gradients.
#include "cuda/ops/operands.h"
#include "ops/image/crop_attrs.h"
#include "ops/image/crops.h"

namespace towerflow::cuda {
namespace {

using image::Crops;

device::CropShape crop_shape(const Crops& crops, float outside = 0) {
  for (const std::int64_t size : {crops.images, crops.height, crops.width, crops.channels,
                                  crops.boxes, crops.crop_height, crops.crop_width}) {
    check_32_bits(size, "a crop");
  }
  return {.images = static_cast<int>(crops.images),
          .height = static_cast<int>(crops.height),
          .width = static_cast<int>(crops.width),
          .channels = static_cast<int>(crops.channels),
          .boxes = static_cast<int>(crops.boxes),
          .crop_height = static_cast<int>(crops.crop_height),
          .crop_width = static_cast<int>(crops.crop_width),
          .nearest = crops.nearest ? 1 : 0,
          .outside = outside};
}

CudaQueue::MakeError crop_error(const Crops& crops) {
  return [crops](const device::DataError& found) {
    return found.value() == device::kBoxNotFinite ? Crops::not_finite(found.position())
                                                  : crops.no_image(found.value(), found.position());
  };
}

std::unique_ptr<PreparedKernel> prepare_crop(Device& device, const KernelRequest& request) {
  const Crops crops = image::crops_of(request);
  const cudaKernel_t kernel = device.kernel(kernel_name("CropAndResize", request.inputs[0].dtype));
  return make_kernel(
      [kernel, make_error = crop_error(crops), n = crops.boxes * crops.crop_elements(),
       shape = crop_shape(crops, request.attributes<image::CropAttrs>().extrapolation_value)](
          CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        device::DataError* const error = queue.error_record(make_error);
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.inputs[2], args.outputs[0], error, shape);
      },
      {.checks_data = true});
}

/// Of dy, the boxes and their images.
std::unique_ptr<PreparedKernel> prepare_crop_grad_image(Device& device,
                                                        const KernelRequest& request) {
  const Crops crops = image::crops_of_grad_image(request);
  const cudaKernel_t kernel =
      device.kernel(kernel_name("CropAndResizeGradImage", request.outputs[0].dtype));
  return make_kernel(
      [kernel, make_error = crop_error(crops), n = crops.images * crops.image_elements(),
       shape = crop_shape(crops)](CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        device::DataError* const error = queue.error_record(make_error);
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.inputs[2], args.outputs[0], error, shape);
      },
      {.checks_data = true});
}

/// Of dy, the images, the boxes and their images. A block computes one box after another.
std::unique_ptr<PreparedKernel> prepare_crop_grad_boxes(Device& device,
                                                        const KernelRequest& request) {
  const Crops crops = image::crops_of_grad_boxes(request);
  const cudaKernel_t kernel =
      device.kernel(kernel_name("CropAndResizeGradBoxes", request.inputs[1].dtype));
  return make_kernel(
      [kernel, make_error = crop_error(crops), shape = crop_shape(crops),
       threads = crops.boxes * kBlockThreads](CudaQueue& queue, const LaunchArgs& args) {
        if (threads == 0) return;
        device::DataError* const error = queue.error_record(make_error);
        launch(queue, kernel, blocks_for(queue.device(), threads), args.inputs[0], args.inputs[1],
               args.inputs[2], args.inputs[3], args.outputs[0], error, shape);
      },
      {.checks_data = true});
}

}  // namespace

void add_crop_and_resize_kernels(CudaEntries& entries) {
  const auto dtypes = {DType::float32, DType::float64, DType::uint8, DType::int32, DType::int64};
  entries.push_back({"CropAndResize", "cuda", takes(dtypes), prepare_crop});
  entries.push_back({"CropAndResizeGradImage", "cuda", {}, prepare_crop_grad_image});
  entries.push_back({"CropAndResizeGradBoxes", "cuda", takes(dtypes, 1), prepare_crop_grad_boxes});
}

}  // namespace towerflow::cuda
