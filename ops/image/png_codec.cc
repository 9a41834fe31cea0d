#include "ops/image/png_codec.h"

#include <fmt/format.h>
#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <type_traits>

#include "core/graph/error.h"

namespace towerflow::image {
namespace {

/// Where libpng continues after an error.
struct PngFailure {
  std::jmp_buf jump;
  char message[200];
};

[[noreturn]] void leave_png(png_structp png, png_const_charp message) {
  auto* failure = static_cast<PngFailure*>(png_get_error_ptr(png));
  std::snprintf(failure->message, sizeof(failure->message), "%s", message);
  std::longjmp(failure->jump, 1);
}

void ignore_png_warning(png_structp, png_const_charp) {}

/// Runs calls of libpng and returns whether they succeeded. `calls` may not own anything, since an
/// error leaves it without running destructors.
template <class F>
bool ran_png(PngFailure& failure, F calls) {
  static_assert(std::is_trivially_destructible_v<F>);
  if (setjmp(failure.jump) != 0) return false;
  calls();
  return true;
}

void read_png_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto* rest = static_cast<std::string_view*>(png_get_io_ptr(png));
  if (rest->size() < count) png_error(png, "the data end too early");
  std::memcpy(to, rest->data(), count);
  rest->remove_prefix(count);
}

void write_png_bytes(png_structp png, png_bytep bytes, png_size_t count) {
  bool appended = true;
  try {
    static_cast<std::string*>(png_get_io_ptr(png))
        ->append(reinterpret_cast<const char*>(bytes), count);
  } catch (const std::exception&) {
    appended = false;  // libpng's frames let no exception pass
  }
  if (!appended) png_error(png, "out of memory");
}

class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : rest_(bytes) {}
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Reads the header and chooses the conversions to `channels` numbers of `bits`.
  bool start(std::int64_t channels, int bits) {
    channels_ = static_cast<int>(channels);
    bits_ = bits;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_, leave_png, ignore_png_warning);
    return png_ != nullptr && ran_png(failure_, [this] {
             info_ = png_create_info_struct(png_);
             if (info_ == nullptr) png_error(png_, "out of memory");
             png_set_read_fn(png_, &rest_, read_png_bytes);
             png_read_info(png_, info_);
             width_ = png_get_image_width(png_, info_);
             height_ = png_get_image_height(png_, info_);
             if (width_ >= 1 << 27 || height_ >= 1 << 27 || width_ * height_ >= kMaxPixels)
               png_error(png_, "the image is too large");
             convert();
             png_read_update_info(png_, info_);
             const std::size_t bytes = png_get_rowbytes(png_, info_);
             if (bytes * (widens_ ? 2 : 1) != row_bytes())
               png_error(png_, "the pixels cannot be converted");
           });
  }

  ImageSize size() const { return {height_, width_, channels_}; }

  bool read_rows(void* pixels) {
    return ran_png(failure_, [this, pixels] {
      for (int pass = 0; pass < passes_; ++pass) {
        auto* row = static_cast<png_bytep>(pixels);
        for (std::int64_t i = 0; i < height_; ++i, row += row_bytes())
          png_read_row(png_, row, nullptr);
      }
      png_read_end(png_, info_);
    });
  }

  /// Makes numbers of 16 bits of the 8 bits that `read_rows` left at the beginning of each row.
  void widen(void* pixels) const {
    if (!widens_) return;
    const std::size_t count = row_bytes() / 2;
    auto* row = static_cast<std::uint8_t*>(pixels);
    for (std::int64_t i = 0; i < height_; ++i, row += row_bytes()) {
      for (std::size_t j = count; j-- > 0;) row[2 * j] = row[2 * j + 1] = row[j];
    }
  }

  const char* message() const { return failure_.message; }

 private:
  std::size_t row_bytes() const {
    return static_cast<std::size_t>(width_) * static_cast<std::size_t>(channels_ * bits_ / 8);
  }

  void convert() {
    const int depth = png_get_bit_depth(png_, info_);
    const int type = png_get_color_type(png_, info_);
    const bool transparent = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
    const bool is_gray = (type & PNG_COLOR_MASK_COLOR) == 0;
    if (channels_ == 0) {
      if (type == PNG_COLOR_TYPE_PALETTE)
        channels_ = transparent ? 4 : 3;
      else
        channels_ = png_get_channels(png_, info_);
    }
    if (channels_ % 2 == 0) {
      if (!has_alpha && transparent)
        png_set_tRNS_to_alpha(png_);
      else if (!has_alpha)
        png_set_add_alpha(png_, (1U << depth) - 1, PNG_FILLER_AFTER);
    } else if (has_alpha || transparent) {
      png_set_strip_alpha(png_);
    }
    if (depth > 8 && bits_ == 8) png_set_strip_16(png_);
    widens_ = depth <= 8 && bits_ == 16;
    png_set_packing(png_);
    passes_ = png_set_interlace_handling(png_);
    if (bits_ == 16) png_set_swap(png_);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (is_gray && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (channels_ < 3 && !is_gray) png_set_rgb_to_gray(png_, 1, 0.299, 0.587);
    if (channels_ >= 3 && is_gray) png_set_gray_to_rgb(png_);
  }

  PngFailure failure_{};
  std::string_view rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::int64_t width_ = 0, height_ = 0;
  int channels_ = 0, bits_ = 8, passes_ = 1;
  bool widens_ = false;
};

[[noreturn]] void fail_png(const char* reason) {
  throw errors::InvalidArgumentError(fmt::format("Invalid PNG data: {}", reason));
}

class PngWriter {
 public:
  PngWriter() = default;
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }

  bool write(const void* pixels, const ImageSize& size, int bits, int compression,
             std::string* text) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure_, leave_png, ignore_png_warning);
    return png_ != nullptr && ran_png(failure_, [=, this, &size] {
             static constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                              PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
             info_ = png_create_info_struct(png_);
             if (info_ == nullptr) png_error(png_, "out of memory");
             png_set_write_fn(png_, text, write_png_bytes, [](png_structp) {});
             png_set_compression_level(png_, compression < 0 ? Z_DEFAULT_COMPRESSION : compression);
             png_set_compression_mem_level(png_, MAX_MEM_LEVEL);
             png_set_IHDR(png_, info_, static_cast<png_uint_32>(size.width),
                          static_cast<png_uint_32>(size.height), bits, kTypes[size.channels - 1],
                          PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                          PNG_FILTER_TYPE_DEFAULT);
             png_write_info(png_, info_);
             if (bits == 16) png_set_swap(png_);
             const auto* row = static_cast<png_const_bytep>(pixels);
             const std::int64_t row_bytes = size.width * size.channels * (bits / 8);
             for (std::int64_t i = 0; i < size.height; ++i, row += row_bytes)
               png_write_row(png_, row);
             png_write_end(png_, nullptr);
           });
  }
  const char* message() const { return failure_.message; }

 private:
  PngFailure failure_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

void decode_png_bytes(std::string_view bytes, std::int64_t channels, int bits,
                      const AllocatePixels& allocate) {
  PngReader reader(bytes);
  if (!reader.start(channels, bits)) fail_png(reader.message());
  void* pixels = allocate(reader.size());
  if (!reader.read_rows(pixels)) fail_png(reader.message());
  reader.widen(pixels);
}

std::string encode_png_bytes(const void* pixels, const ImageSize& size, int bits, int compression) {
  std::string text;
  PngWriter writer;
  if (!writer.write(pixels, size, bits, compression, &text)) {
    throw errors::InternalError(
        fmt::format("PNG encoding of an image of shape [{}, {}, {}] failed: {}", size.height,
                    size.width, size.channels, writer.message()));
  }
  return text;
}

}  // namespace towerflow::image
