// Convolutions as products of matrices: for one row of outputs at a time, the windows of the input
// are copied into the rows of a matrix.
#include "cuda/host/dnn_convolution.h"

#include <algorithm>
#include <array>

#include "cuda/host/product.h"

namespace towerflow::cuda::host {
namespace {

using Three = std::array<std::int64_t, 3>;

/// Returns the last values with leading dimensions added, so that all convolutions have three.
Three three_of(const std::vector<std::int64_t>& list, std::size_t skip, std::int64_t fill) {
  Three three = {fill, fill, fill};
  for (std::size_t i = skip; i < list.size(); ++i) three[3 - (list.size() - i)] = list[i];
  return three;
}

/// The geometry of one convolution, and the copies between images and windows.
class Windows {
 public:
  Windows(const DnnConvolution& convolution, const std::vector<std::int64_t>& x,
          const std::vector<std::int64_t>& w, const std::vector<std::int64_t>& y)
      : batch(x[0]),
        channels(x[1]),
        group_channels(w[1]),
        outputs(w[0]),
        groups(x[1] / w[1]),
        image_(three_of(x, 2, 1)),
        window_(three_of(w, 2, 1)),
        result_(three_of(y, 2, 1)),
        pre_(three_of(convolution.pre, 0, 0)),
        stride_(three_of(convolution.strides, 0, 1)),
        dilation_(three_of(convolution.dilations, 0, 1)),
        flips_(convolution.flips) {}

  std::int64_t window_size() const { return window_[0] * window_[1] * window_[2] * group_channels; }
  std::int64_t group_outputs() const { return outputs / groups; }
  /// Outputs that lie in a row, and the rows of one image.
  std::int64_t row() const { return result_[2]; }
  std::int64_t rows() const { return result_[0] * result_[1]; }
  /// The first value of a row of outputs.
  std::int64_t row_at(std::int64_t n, std::int64_t r) const {
    return (n * rows() + r) * row() * outputs;
  }

  /// Copies the windows of a row of outputs into the rows of `matrix`, zeros where they reach over
  /// the image.
  void gather(const double* image, std::int64_t n, std::int64_t r, std::int64_t group,
              double* matrix) const {
    for_each_run(n, r, group, [&](std::int64_t at, std::int64_t to) {
      if (at < 0) {
        std::fill_n(matrix + to, group_channels, 0.0);
      } else {
        std::copy_n(image + at, group_channels, matrix + to);
      }
    });
  }

  /// Adds the rows of `matrix` to the image, each where `gather` would read it.
  void scatter(const double* matrix, std::int64_t n, std::int64_t r, std::int64_t group,
               double* image) const {
    for_each_run(n, r, group, [&](std::int64_t at, std::int64_t from) {
      if (at < 0) return;
      for (std::int64_t c = 0; c < group_channels; ++c) image[at + c] += matrix[from + c];
    });
  }

  const std::int64_t batch, channels, group_channels, outputs, groups;

 private:
  /// Calls `f(image index or -1, matrix index)` for the channels of each element of each window.
  template <typename F>
  void for_each_run(std::int64_t n, std::int64_t r, std::int64_t group, const F& f) const {
    const std::int64_t p0 = r / result_[1], p1 = r % result_[1];
    std::int64_t to = 0;
    for (std::int64_t p2 = 0; p2 < result_[2]; ++p2) {
      for (std::int64_t w0 = 0; w0 < window_[0]; ++w0) {
        const std::int64_t i0 = position(0, p0, w0);
        for (std::int64_t w1 = 0; w1 < window_[1]; ++w1) {
          const std::int64_t i1 = position(1, p1, w1);
          for (std::int64_t w2 = 0; w2 < window_[2]; ++w2, to += group_channels) {
            const std::int64_t i2 = position(2, p2, w2);
            const std::int64_t pixel = ((n * image_[0] + i0) * image_[1] + i1) * image_[2] + i2;
            const bool inside = i0 >= 0 && i1 >= 0 && i2 >= 0;
            f(inside ? pixel * channels + group * group_channels : -1, to);
          }
        }
      }
    }
  }

  /// Returns where an element of the window lies in the image, -1 if outside.
  std::int64_t position(std::size_t d, std::int64_t output, std::int64_t element) const {
    const std::int64_t w = flips_ ? window_[d] - 1 - element : element;
    const std::int64_t i = output * stride_[d] - pre_[d] + w * dilation_[d];
    return i < image_[d] ? std::max<std::int64_t>(i, -1) : -1;
  }

  Three image_, window_, result_, pre_, stride_, dilation_;
  bool flips_;
};

std::vector<double> doubles(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), 0);
}

}  // namespace

std::optional<DnnConvolution> read_convolution(const DnnDescriptor& d) {
  DnnConvolution c;
  const auto spatial = d.get<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
  const auto size = static_cast<std::size_t>(spatial);
  if (spatial < 1 || spatial > 3 || !d.has(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) ||
      !d.has(CUDNN_ATTR_CONVOLUTION_CONV_MODE)) {
    return std::nullopt;
  }
  c.compute = d.get(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  c.flips = d.get(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CONVOLUTION) == CUDNN_CONVOLUTION;
  c.pre = d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  c.post = d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  c.strides = d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  c.dilations = d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  // The library takes paddings that were not set for 0.
  if (c.pre.empty()) c.pre.assign(size, 0);
  if (c.post.empty()) c.post.assign(size, 0);
  const auto fits = [size](const std::vector<std::int64_t>& list, std::int64_t least) {
    return list.size() == size &&
           std::all_of(list.begin(), list.end(), [least](std::int64_t v) { return v >= least; });
  };
  if (!fits(c.pre, 0) || !fits(c.post, 0) || !fits(c.strides, 1) || !fits(c.dilations, 1)) {
    return std::nullopt;
  }
  return c;
}

std::string check_shapes(const DnnConvolution& c, const std::vector<std::int64_t>& x,
                         const std::vector<std::int64_t>& w, const std::vector<std::int64_t>& y) {
  const std::size_t rank = c.strides.size() + 2;
  if (x.size() != rank || w.size() != rank || y.size() != rank) {
    return "a tensor has another rank than the convolution";
  }
  for (const auto* dims : {&x, &w, &y}) {
    if (std::any_of(dims->begin(), dims->end(), [](std::int64_t d) { return d < 1; })) {
      return "a tensor has no elements";
    }
  }
  if (x[1] % w[1] != 0) return "the channels of x are no multiple of those of w";
  if (w[0] % (x[1] / w[1]) != 0) return "the output channels are no multiple of the groups";
  if (y[1] != w[0]) return "y and w have different output channels";
  if (y[0] != x[0]) return "x and y have different batches";
  for (std::size_t d = 0; d < c.strides.size(); ++d) {
    const std::int64_t reach = c.dilations[d] * (w[d + 2] - 1) + 1;
    const std::int64_t room = x[d + 2] + c.pre[d] + c.post[d] - reach;
    if (room < 0 || y[d + 2] != room / c.strides[d] + 1) {
      return "spatial dimension " + std::to_string(d) + " of y is " + std::to_string(y[d + 2]) +
             (room < 0 ? ", but the window is larger than the image"
                       : ", not " + std::to_string(room / c.strides[d] + 1));
    }
  }
  return "";
}

void convolve(const DnnConvolution& convolution, const DnnArray& x, const DnnArray& w,
              DnnArray& y) {
  const Windows windows(convolution, x.dims, w.dims, y.dims);
  const std::int64_t size = windows.window_size(), outputs = windows.group_outputs();
  std::vector<double> matrix = doubles(windows.row() * size), turned = doubles(size * outputs);
  std::fill(y.values.begin(), y.values.end(), 0);
  for (std::int64_t g = 0; g < windows.groups; ++g) {
    const double* const filter = w.values.data() + g * outputs * size;
    for (std::int64_t k = 0; k < outputs; ++k) {
      for (std::int64_t i = 0; i < size; ++i) {
        turned[static_cast<std::size_t>(i * outputs + k)] = filter[k * size + i];
      }
    }
    for (std::int64_t n = 0; n < windows.batch; ++n) {
      for (std::int64_t r = 0; r < windows.rows(); ++r) {
        windows.gather(x.values.data(), n, r, g, matrix.data());
        multiply_add(windows.row(), outputs, size, {matrix.data(), size, 1}, turned.data(), outputs,
                     y.values.data() + windows.row_at(n, r) + g * outputs, windows.outputs);
      }
    }
  }
}

void convolve_data_gradient(const DnnConvolution& convolution, const DnnArray& dy,
                            const DnnArray& w, DnnArray& dx) {
  const Windows windows(convolution, dx.dims, w.dims, dy.dims);
  const std::int64_t size = windows.window_size(), outputs = windows.group_outputs();
  std::vector<double> matrix = doubles(windows.row() * size);
  std::fill(dx.values.begin(), dx.values.end(), 0);
  for (std::int64_t g = 0; g < windows.groups; ++g) {
    for (std::int64_t n = 0; n < windows.batch; ++n) {
      for (std::int64_t r = 0; r < windows.rows(); ++r) {
        std::fill(matrix.begin(), matrix.end(), 0);
        multiply_add(windows.row(), size, outputs,
                     {dy.values.data() + windows.row_at(n, r) + g * outputs, windows.outputs, 1},
                     w.values.data() + g * outputs * size, size, matrix.data(), size);
        windows.scatter(matrix.data(), n, r, g, dx.values.data());
      }
    }
  }
}

void convolve_weight_gradient(const DnnConvolution& convolution, const DnnArray& x,
                              const DnnArray& dy, DnnArray& dw) {
  const Windows windows(convolution, x.dims, dw.dims, dy.dims);
  const std::int64_t size = windows.window_size(), outputs = windows.group_outputs();
  std::vector<double> matrix = doubles(windows.row() * size);
  std::fill(dw.values.begin(), dw.values.end(), 0);
  for (std::int64_t g = 0; g < windows.groups; ++g) {
    for (std::int64_t n = 0; n < windows.batch; ++n) {
      for (std::int64_t r = 0; r < windows.rows(); ++r) {
        windows.gather(x.values.data(), n, r, g, matrix.data());
        multiply_add(outputs, size, windows.row(),
                     {dy.values.data() + windows.row_at(n, r) + g * outputs, 1, windows.outputs},
                     matrix.data(), size, dw.values.data() + g * outputs * size, size);
      }
    }
  }
}

}  // namespace towerflow::cuda::host
