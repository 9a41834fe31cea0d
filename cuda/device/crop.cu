// Crops of images that are resized to one size, as ops/image/crop_and_resize.cc makes them. A box
// that is not finite or names no image sets *error, to kBoxNotFinite or the image, at the number of
// the box.
//
//   CropAndResize_T            x [images, ..] -> y [boxes, ..]
//   CropAndResizeGradImage_T   dy -> dx; a thread for each element of the images
//   CropAndResizeGradBoxes_T   dy, x -> dboxes [boxes, 4]; a block for each box, grid.x: any number
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"
#include "ops/image/crop_place.h"

namespace towerflow::cuda::device {
namespace {

/// Returns the image of a box, or -1 if there is none, which also sets *error.
TOWERFLOW_DEVICE int64 image_of(const int* images, const float* boxes, int64 box,
                                const CropShape& s, DataError* error) {
  const int image = images[box];
  bool finite = true;
  for (int k = 0; k < 4; ++k) finite &= IsFinite()(boxes[4 * box + k]);
  if (finite && image >= 0 && image < s.images) return image;
  // Of boxes that are not finite the value is above all images.
  error->set(finite ? int64{image} : kBoxNotFinite, box);
  return -1;
}

template <class T>
TOWERFLOW_DEVICE void crop(const T* x, const float* boxes, const int* images, float* y,
                           DataError* error, const CropShape& s) {
  const int64 n = int64{s.boxes} * s.crop_height * s.crop_width * s.channels;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 pixel = i / s.channels, line = pixel / s.crop_width, box = line / s.crop_height;
    const int64 c = i - pixel * s.channels;
    const float* b = boxes + 4 * box;
    const int64 image = image_of(images, boxes, box, s, error);
    const CropPlace<int> at(b[0], b[2], s.height, s.crop_height,
                            static_cast<int>(line - box * s.crop_height));
    const CropPlace<int> to(b[1], b[3], s.width, s.crop_width,
                            static_cast<int>(pixel - line * s.crop_width));
    if (image < 0 || !at.inside || !to.inside) {
      y[i] = s.outside;
      continue;
    }
    const auto value = [&](int row, int column) {
      return static_cast<float>(
          widen(x[((image * s.height + row) * s.width + column) * s.channels + c]));
    };
    if (s.nearest != 0) {
      y[i] = value(at.closest, to.closest);
      continue;
    }
    const float top = value(at.before, to.before), bottom = value(at.after, to.before);
    const float above = top + (value(at.before, to.after) - top) * to.share;
    const float below = bottom + (value(at.after, to.after) - bottom) * to.share;
    y[i] = above + (below - above) * at.share;
  }
}

/// A thread adds up what the crops send to one element of an image, in the order of the CPU.
template <class T>
TOWERFLOW_DEVICE void crop_grad_image(const float* dy, const float* boxes, const int* images, T* dx,
                                      DataError* error, const CropShape& s) {
  const int64 n = int64{s.images} * s.height * s.width * s.channels;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 pixel = i / s.channels, line = pixel / s.width, image = line / s.height;
    const int row = static_cast<int>(line - image * s.height);
    const int column = static_cast<int>(pixel - line * s.width);
    T sum = T(0);
    for (int64 box = 0; box < s.boxes; ++box) {
      if (image_of(images, boxes, box, s, error) != image) continue;
      const float* b = boxes + 4 * box;
      const float* from =
          dy + box * s.crop_height * s.crop_width * s.channels + i - pixel * s.channels;
      for (int v = 0; v < s.crop_height; ++v) {
        const CropPlace<int> at(b[0], b[2], s.height, s.crop_height, v);
        const bool first_row = s.nearest != 0 ? at.closest == row : at.before == row;
        const bool second_row = s.nearest == 0 && at.after == row;
        if (!at.inside || (!first_row && !second_row)) continue;
        for (int u = 0; u < s.crop_width; ++u) {
          const CropPlace<int> to(b[1], b[3], s.width, s.crop_width, u);
          if (!to.inside) continue;
          const float slope = from[(int64{v} * s.crop_width + u) * s.channels];
          const auto add = [&](bool hit, float row_share, float column_share) {
            if (hit) sum += static_cast<T>(column_share * (row_share * slope));
          };
          if (s.nearest != 0) {
            add(to.closest == column, 1, 1);
            continue;
          }
          add(first_row && to.before == column, 1 - at.share, 1 - to.share);
          add(first_row && to.after == column, 1 - at.share, to.share);
          add(second_row && to.before == column, at.share, 1 - to.share);
          add(second_row && to.after == column, at.share, to.share);
        }
      }
    }
    dx[i] = sum;
  }
}

/// A block adds up the gradient of each box. A corner moves place i of a crop by the part that
/// remains to the other corner.
template <class T>
TOWERFLOW_DEVICE void crop_grad_boxes(const float* dy, const T* x, const float* boxes,
                                      const int* images, float* dboxes, DataError* error,
                                      const CropShape& s) {
  TOWERFLOW_SHARED(WarpNumbers<float>, shared);
  const RowGroup block(kGroupBlock);
  const int64 size = int64{s.crop_height} * s.crop_width * s.channels;
  for (int64 box = blockIdx.x; box < s.boxes; box += gridDim.x) {
    const float* b = boxes + 4 * box;
    const int64 image = image_of(images, boxes, box, s, error);
    float sums[4] = {};
    const auto add = [](float slope, int length, int crop_size, int i, float& first, float& last) {
      const auto span = static_cast<float>(length - 1);
      const float moved = crop_size > 1
                              ? static_cast<float>(i) * (span / static_cast<float>(crop_size - 1))
                              : 0.5F * span;
      first += slope * (span - moved);
      last += slope * moved;
    };
    for (int64 i = threadIdx.x; image >= 0 && i < size; i += kGroupBlock) {
      const int64 pixel = i / s.channels, c = i - pixel * s.channels;
      const int v = static_cast<int>(pixel / s.crop_width);
      const int u = static_cast<int>(pixel - int64{v} * s.crop_width);
      const CropPlace<int> at(b[0], b[2], s.height, s.crop_height, v);
      const CropPlace<int> to(b[1], b[3], s.width, s.crop_width, u);
      if (!at.inside || !to.inside) continue;
      const auto value = [&](int row, int column) {
        return static_cast<float>(
            widen(x[((image * s.height + row) * s.width + column) * s.channels + c]));
      };
      const float top_left = value(at.before, to.before), top_right = value(at.before, to.after);
      const float bottom_left = value(at.after, to.before),
                  bottom_right = value(at.after, to.after);
      const float down =
          (bottom_left - top_left) * (1 - to.share) + (bottom_right - top_right) * to.share;
      const float across =
          (top_right - top_left) * (1 - at.share) + (bottom_right - bottom_left) * at.share;
      const float slope = dy[box * size + i];
      add(down * slope, s.height, s.crop_height, v, sums[0], sums[2]);
      add(across * slope, s.width, s.crop_width, u, sums[1], sums[3]);
    }
    for (int k = 0; k < 4; ++k) {
      const float total = block.reduce<Sum<float>>(sums[k], shared);
      if (threadIdx.x == 0) dboxes[4 * box + k] = total;
    }
  }
}

}  // namespace

#define TOWERFLOW_CROP(name, T)                                                                  \
  TOWERFLOW_KERNEL(CropAndResize_##name, 256, const T* x, const float* boxes, const int* images, \
                   float* y, DataError* error, CropShape s) {                                    \
    crop(x, boxes, images, y, error, s);                                                         \
  }                                                                                              \
  TOWERFLOW_MEETING_KERNEL(CropAndResizeGradBoxes_##name, 256, sizeof(WarpNumbers<float>),       \
                           const float* dy, const T* x, const float* boxes, const int* images,   \
                           float* dboxes, DataError* error, CropShape s) {                       \
    crop_grad_boxes(dy, x, boxes, images, dboxes, error, s);                                     \
  }
TOWERFLOW_CROP(float32, float)
TOWERFLOW_CROP(float64, double)
TOWERFLOW_CROP(float16, Half)
TOWERFLOW_CROP(uint8, std::uint8_t)
TOWERFLOW_CROP(int32, std::int32_t)
TOWERFLOW_CROP(int64, int64)

TOWERFLOW_KERNEL(CropAndResizeGradImage_float32, 256, const float* dy, const float* boxes,
                 const int* images, float* dx, DataError* error, CropShape s) {
  crop_grad_image(dy, boxes, images, dx, error, s);
}
TOWERFLOW_KERNEL(CropAndResizeGradImage_float64, 256, const float* dy, const float* boxes,
                 const int* images, double* dx, DataError* error, CropShape s) {
  crop_grad_image(dy, boxes, images, dx, error, s);
}

}  // namespace towerflow::cuda::device
