#include "ops/image/jpeg_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it
#include <cstring>
#include <exception>
#include <type_traits>
// Comes after the headers above, whose types it uses.
#include <jerror.h>
#include <jpeglib.h>

#include "core/graph/error.h"

namespace towerflow::image {
namespace {

/// Where libjpeg continues after a fatal error, instead of ending the process.
struct JpegFailure {
  jpeg_error_mgr manager;  // first, so that libjpeg's pointer to it is one to the whole
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

void leave_jpeg(j_common_ptr info) {
  auto* failure = reinterpret_cast<JpegFailure*>(info->err);
  info->err->format_message(info, failure->message);
  std::longjmp(failure->jump, 1);
}

void ignore_jpeg_message(j_common_ptr) {}

jpeg_error_mgr* jpeg_errors(JpegFailure& failure) {
  jpeg_std_error(&failure.manager);
  failure.manager.error_exit = leave_jpeg;
  failure.manager.output_message = ignore_jpeg_message;
  return &failure.manager;
}

/// Runs calls of libjpeg and returns whether they succeeded. `calls` may not own anything, since
/// a fatal error leaves it without running destructors.
template <class F>
bool ran_jpeg(JpegFailure& failure, F calls) {
  static_assert(std::is_trivially_destructible_v<F>);
  if (setjmp(failure.jump) != 0) return false;
  calls();
  return true;
}

/// Bytes in memory as libjpeg's source. If a truncated file is to be recovered, it ends with a
/// made-up end marker, and a marker that is cut off is read again from its beginning. Otherwise the
/// rows before a marker that is cut off are kept, and any other end is an error. This is how
/// TensorFlow does it, but for the limit, which ends a loop over the same bytes.
struct JpegSource {
  jpeg_source_mgr manager;  // first
  bool recover;
  int repeats;
};

constexpr int kMostRepeats = 100;
constexpr JOCTET kEndOfImage[] = {0xff, JPEG_EOI};

boolean fill_jpeg_input(j_decompress_ptr info) {
  auto* source = reinterpret_cast<JpegSource*>(info->src);
  if (source->manager.bytes_in_buffer != 0) {
    if (!source->recover) return FALSE;
    if (++source->repeats > kMostRepeats) ERREXIT(info, JERR_FILE_READ);
    return TRUE;
  }
  if (!source->recover) ERREXIT(info, JERR_FILE_READ);
  WARNMS(info, JWRN_JPEG_EOF);
  source->manager.next_input_byte = kEndOfImage;
  source->manager.bytes_in_buffer = sizeof(kEndOfImage);
  return TRUE;
}

void skip_jpeg_input(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *info->src;
  if (static_cast<std::size_t>(count) > source.bytes_in_buffer) {
    source.bytes_in_buffer = 0;
    fill_jpeg_input(info);
    return;
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<std::size_t>(count);
}

/// Converts a row of CMYK to RGB.
void cmyk_to_rgb(const JSAMPLE* cmyk, std::int64_t width, bool inverted, JSAMPLE* rgb) {
  for (std::int64_t i = 0; i < width; ++i, cmyk += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? cmyk[c] : 255 - cmyk[c];
      const int black = inverted ? cmyk[3] : 255 - cmyk[3];
      rgb[c] = static_cast<JSAMPLE>(black * ink / 255);
    }
  }
}

/// Scans of a progressive image, each of which goes over all pixels. Real ones have about ten.
constexpr int kMostScans = 500;

void limit_jpeg_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans)
    ERREXIT(info, JERR_BAD_PROGRESSION);
}

class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes, bool recover) {
    info_.err = jpeg_errors(failure_);
    source_.recover = recover;
    source_.manager.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source_.manager.bytes_in_buffer = bytes.size();
    source_.manager.init_source = [](j_decompress_ptr) {};
    source_.manager.fill_input_buffer = fill_jpeg_input;
    source_.manager.skip_input_data = skip_jpeg_input;
    source_.manager.resync_to_restart = jpeg_resync_to_restart;
    source_.manager.term_source = [](j_decompress_ptr) {};
    progress_.progress_monitor = limit_jpeg_scans;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  /// Reads the header and returns whether the image can be decoded in this way.
  bool start(const JpegDecoding& how) {
    return ran_jpeg(failure_, [this, &how] {
      read_header();
      const int components = info_.num_components;
      channels_ = how.channels == 0 ? std::min(components, 3) : static_cast<int>(how.channels);
      if (channels_ != 1 && channels_ != 3) ERREXIT2(&info_, JERR_COMPONENT_COUNT, channels_, 3);
      is_cmyk_ = channels_ == 3 &&
                 (info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK);
      info_.out_color_space = channels_ == 1 ? JCS_GRAYSCALE : is_cmyk_ ? JCS_CMYK : JCS_RGB;
      info_.do_fancy_upsampling = how.fancy_upscaling ? TRUE : FALSE;
      info_.scale_num = 1;
      info_.scale_denom = static_cast<unsigned>(how.ratio);
      info_.dct_method = how.accurate_dct ? JDCT_ISLOW : JDCT_IFAST;
      jpeg_calc_output_dimensions(&info_);
      const std::int64_t elements =
          std::int64_t{info_.output_height} * std::int64_t{info_.output_width} * components;
      if (elements <= 0) ERREXIT(&info_, JERR_EMPTY_IMAGE);
      if (elements >= kMaxPixels) ERREXIT1(&info_, JERR_IMAGE_TOO_BIG, JPEG_MAX_DIMENSION);
      if (!jpeg_start_decompress(&info_)) ERREXIT(&info_, JERR_INPUT_EOF);
      if (info_.output_components != (is_cmyk_ ? 4 : channels_))
        ERREXIT2(&info_, JERR_COMPONENT_COUNT, info_.output_components, channels_);
      if (is_cmyk_) {
        cmyk_row_ = static_cast<JSAMPLE*>(
            info_.mem->alloc_large(reinterpret_cast<j_common_ptr>(&info_), JPOOL_IMAGE,
                                   std::size_t{4} * info_.output_width));
      }
    });
  }

  /// Reads the header, for the size of the image as it is stored.
  bool start_as_stored() {
    return ran_jpeg(failure_, [this] {
      read_header();
      jpeg_calc_output_dimensions(&info_);
      channels_ = info_.output_components;
    });
  }

  ImageSize size() const { return {info_.output_height, info_.output_width, channels_}; }

  /// Reads all rows. Afterwards `rows_read` says how many were in the data.
  bool read_rows(std::uint8_t* pixels) {
    return ran_jpeg(failure_, [this, pixels] {
      const std::size_t row_bytes = std::size_t{info_.output_width} * std::size_t(channels_);
      while (info_.output_scanline < info_.output_height) {
        JSAMPLE* row = pixels + info_.output_scanline * row_bytes;
        JSAMPLE* target = is_cmyk_ ? cmyk_row_ : row;
        if (jpeg_read_scanlines(&info_, &target, 1) == 0) break;
        if (is_cmyk_)
          cmyk_to_rgb(cmyk_row_, info_.output_width, info_.saw_Adobe_marker != FALSE, row);
      }
      rows_read_ = info_.output_scanline;
      if (rows_read_ == info_.output_height) jpeg_finish_decompress(&info_);
    });
  }
  std::int64_t rows_read() const { return rows_read_; }

  /// Returns libjpeg's message after a failure.
  const char* message() const { return failure_.message; }

 private:
  void read_header() {
    jpeg_create_decompress(&info_);
    info_.src = &source_.manager;
    info_.progress = &progress_;
    if (jpeg_read_header(&info_, TRUE) != JPEG_HEADER_OK) ERREXIT(&info_, JERR_INPUT_EOF);
  }

  JpegFailure failure_{};
  JpegSource source_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
  int channels_ = 0;
  bool is_cmyk_ = false;
  JSAMPLE* cmyk_row_ = nullptr;
  std::int64_t rows_read_ = 0;
};

[[noreturn]] void fail_jpeg(const char* reason) {
  throw errors::InvalidArgumentError(fmt::format("Invalid JPEG data: {}", reason));
}

/// What libjpeg writes to: a buffer that is appended to a string whenever it is full.
struct JpegTarget {
  jpeg_destination_mgr manager;  // first
  std::string* text;
  JOCTET buffer[1 << 14];
};

void append_jpeg(j_compress_ptr info, std::size_t count) {
  auto* target = reinterpret_cast<JpegTarget*>(info->dest);
  bool appended = true;
  try {
    target->text->append(reinterpret_cast<const char*>(target->buffer), count);
  } catch (const std::exception&) {
    appended = false;  // libjpeg's frames let no exception pass
  }
  if (!appended) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  target->manager.next_output_byte = target->buffer;
  target->manager.free_in_buffer = sizeof(target->buffer);
}

boolean empty_jpeg_buffer(j_compress_ptr info) {
  append_jpeg(info, sizeof(JpegTarget::buffer));
  return TRUE;
}

void finish_jpeg_buffer(j_compress_ptr info) {
  append_jpeg(info, sizeof(JpegTarget::buffer) - info->dest->free_in_buffer);
}

class JpegWriter {
 public:
  explicit JpegWriter(std::string& text) {
    info_.err = jpeg_errors(failure_);
    target_.text = &text;
    target_.manager.next_output_byte = target_.buffer;
    target_.manager.free_in_buffer = sizeof(target_.buffer);
    target_.manager.init_destination = [](j_compress_ptr) {};
    target_.manager.empty_output_buffer = empty_jpeg_buffer;
    target_.manager.term_destination = finish_jpeg_buffer;
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() { jpeg_destroy_compress(&info_); }

  bool write(const std::uint8_t* pixels, const ImageSize& size, const JpegEncoding& how,
             const std::string& packet) {
    return ran_jpeg(failure_, [=, this, &how, &packet] {
      jpeg_create_compress(&info_);
      info_.dest = &target_.manager;
      info_.image_width = static_cast<JDIMENSION>(size.width);
      info_.image_height = static_cast<JDIMENSION>(size.height);
      info_.input_components = static_cast<int>(size.channels);
      info_.in_color_space = size.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_set_defaults(&info_);
      if (how.optimize_size) info_.optimize_coding = TRUE;
      info_.density_unit = how.per_inch ? 1 : 2;
      info_.X_density = static_cast<UINT16>(how.x_density);
      info_.Y_density = static_cast<UINT16>(how.y_density);
      jpeg_set_quality(&info_, how.quality, TRUE);
      if (how.progressive) jpeg_simple_progression(&info_);
      if (!how.chroma_downsampling) {
        for (int i = 0; i < info_.num_components; ++i) {
          info_.comp_info[i].h_samp_factor = 1;
          info_.comp_info[i].v_samp_factor = 1;
        }
      }
      jpeg_start_compress(&info_, TRUE);
      if (!packet.empty()) {
        jpeg_write_marker(&info_, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(packet.data()),
                          static_cast<unsigned>(packet.size()));
      }
      const std::int64_t row_bytes = size.width * size.channels;
      while (info_.next_scanline < info_.image_height) {
        auto* row = const_cast<JSAMPLE*>(pixels + info_.next_scanline * row_bytes);
        jpeg_write_scanlines(&info_, &row, 1);
      }
      jpeg_finish_compress(&info_);
    });
  }
  const char* message() const { return failure_.message; }

 private:
  JpegFailure failure_{};
  JpegTarget target_{};
  jpeg_compress_struct info_{};
};

}  // namespace

void decode_jpeg_bytes(std::string_view bytes, const JpegDecoding& how,
                       const AllocatePixels& allocate) {
  JpegReader reader(bytes, how.try_recover_truncated);
  if (!reader.start(how)) fail_jpeg(reader.message());
  const ImageSize size = reader.size();
  auto* pixels = static_cast<std::uint8_t*>(allocate(size));
  if (!reader.read_rows(pixels)) fail_jpeg(reader.message());
  if (reader.rows_read() == size.height) return;
  const float fraction = static_cast<float>(reader.rows_read()) / static_cast<float>(size.height);
  if (fraction < std::min(1.0F, how.acceptable_fraction)) {
    fail_jpeg(fmt::format("only {} of {} rows are there", reader.rows_read(), size.height).c_str());
  }
  const std::int64_t row_bytes = size.width * size.channels;
  std::fill(pixels + reader.rows_read() * row_bytes, pixels + size.elements(), std::uint8_t{0});
}

ImageSize jpeg_size(std::string_view bytes) {
  JpegReader reader(bytes, false);
  if (!reader.start_as_stored()) fail_jpeg(reader.message());
  return reader.size();
}

std::string encode_jpeg_bytes(const std::uint8_t* pixels, const ImageSize& size,
                              const JpegEncoding& how) {
  std::string packet = how.xmp_metadata;
  if (!packet.empty()) packet.insert(0, std::string("http://ns.adobe.com/xap/1.0/") + '\0');
  std::string text;
  JpegWriter writer(text);
  if (size.height > JPEG_MAX_DIMENSION || size.width > JPEG_MAX_DIMENSION ||
      !writer.write(pixels, size, how, packet)) {
    throw errors::InternalError(fmt::format(
        "JPEG encoding of an image of shape [{}, {}, {}] failed: {}", size.height, size.width,
        size.channels, *writer.message() != '\0' ? writer.message() : "it is too large"));
  }
  return text;
}

}  // namespace towerflow::image
