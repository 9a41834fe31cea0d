#include "data/record_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/graph/error.h"
#include "data/tfrecord.h"

namespace towerflow::data {
namespace {

class TFRecordFile final : public RecordFile {
 public:
  TFRecordFile(const std::string& path, const TFRecordReadOptions& options)
      : reader_(path, options) {}
  bool next(std::string& record) override { return reader_.next(record); }
  std::uint64_t position() const override { return reader_.byte_offset(); }

 private:
  TFRecordReader reader_;
};

/// Returns a record only after the footer behind it has been read, since the end of a compressed
/// file is not known in advance.
class FixedLengthFile final : public RecordFile {
 public:
  FixedLengthFile(const std::string& path, const FixedLength& layout)
      : input_(path),
        layout_(layout),
        hop_(layout.hop_bytes == 0 ? layout.record_bytes : layout.hop_bytes),
        to_skip_(layout.header_bytes) {
    input_.set_compression(layout.compression);
  }

  bool next(std::string& record) override {
    if (!skip()) return false;
    const std::uint64_t wanted = layout_.record_bytes + layout_.footer_bytes;
    if (ahead_.size() < wanted) input_.append_to(ahead_, wanted - ahead_.size());
    if (ahead_.size() < wanted) return false;
    record.assign(ahead_, 0, layout_.record_bytes);
    to_skip_ = hop_;
    ++records_;
    return true;
  }
  std::uint64_t position() const override { return records_; }

 private:
  /// Skips `to_skip_` bytes; returns false if the file has fewer.
  bool skip() {
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, ahead_.size()));
    ahead_.erase(0, here);
    to_skip_ -= here;
    std::array<std::byte, 4096> passed;
    while (to_skip_ > 0) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, passed.size()));
      const std::size_t count = input_.read(std::span(passed).first(part));
      to_skip_ -= count;
      if (count < part) return false;
    }
    return true;
  }

  DecodingInput input_;
  const FixedLength layout_;
  const std::uint64_t hop_;
  std::uint64_t to_skip_;
  std::uint64_t records_ = 0;
  std::string ahead_;  // bytes read ahead, from the next record on
};

class TextLineFile final : public RecordFile {
 public:
  TextLineFile(const std::string& path, std::uint64_t skip_lines, Compression compression)
      : input_(path) {
    input_.set_compression(compression);
    std::string passed;
    for (std::uint64_t i = 0; i < skip_lines && next(passed); ++i) {
    }
  }

  bool next(std::string& record) override {
    record.clear();
    bool ended = false;
    while (!ended) {
      if (begin_ == end_) {
        begin_ = 0;
        end_ = input_.read(buffer_);
        if (end_ == 0) break;
      }
      const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
      const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
      const auto newline = std::find(first, last, std::byte{'\n'});
      const auto count = static_cast<std::size_t>(newline - first);
      if (record.size() + count > kMaxRecordBytes) {
        throw errors::ResourceExhaustedError(fmt::format("line {} of {} has more than {} bytes",
                                                         line_, input_.path().string(),
                                                         kMaxRecordBytes));
      }
      record.append(reinterpret_cast<const char*>(buffer_.data()) + begin_, count);
      begin_ += count;
      ended = newline != last;
      if (ended) ++begin_;
    }
    if (!record.empty() && record.back() == '\r') record.pop_back();
    if (!ended && record.empty()) return false;
    ++line_;
    return true;
  }
  std::uint64_t position() const override { return line_; }

 private:
  DecodingInput input_;
  std::array<std::byte, 65536> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t line_ = 1;
};

class WholeFile final : public RecordFile {
 public:
  explicit WholeFile(const std::string& path) : path_(path) {}
  bool next(std::string& record) override {
    if (std::exchange(read_, true)) return false;
    record = read_file(path_, kMaxRecordBytes);
    return true;
  }
  std::uint64_t position() const override { return read_ ? 1 : 0; }

 private:
  std::string path_;
  bool read_ = false;
};

class SharedFile final : public RecordFile {
 public:
  SharedFile(std::unique_ptr<RecordFile> file, RecordShare share)
      : file_(std::move(file)), count_(share.count) {
    pass(share.index);
  }
  bool next(std::string& record) override {
    if (!file_->next(record)) return false;
    pass(count_ - 1);
    return true;
  }
  std::uint64_t position() const override { return file_->position(); }

 private:
  void pass(std::int64_t records) {
    for (std::int64_t i = 0; i < records && file_->next(passed_); ++i) continue;
  }

  std::unique_ptr<RecordFile> file_;
  std::int64_t count_;
  std::string passed_;
};

}  // namespace

std::unique_ptr<RecordFile> share_of_records(std::unique_ptr<RecordFile> file, RecordShare share) {
  if (share.count == 1) return file;
  return std::make_unique<SharedFile>(std::move(file), share);
}

RecordFormat tfrecord_format(std::optional<Compression> compression) {
  return {[options = TFRecordReadOptions{.compression = compression,
                                         .max_record_bytes = kMaxRecordBytes}](
              const std::string& path) { return std::make_unique<TFRecordFile>(path, options); }};
}

RecordFormat fixed_length_format(FixedLength layout) {
  const std::uint64_t most = kMaxRecordBytes;
  if (layout.record_bytes == 0 || layout.record_bytes > most || layout.footer_bytes > most) {
    throw errors::InvalidArgumentError(
        fmt::format("records of {} bytes and a footer of {}: a record has 1 to {} bytes, a footer "
                    "as many at most",
                    layout.record_bytes, layout.footer_bytes, most));
  }
  return {
      [layout](const std::string& path) { return std::make_unique<FixedLengthFile>(path, layout); },
      "number"};
}

RecordFormat text_line_format(std::uint64_t skip_lines, Compression compression) {
  return {[=](const std::string& path) {
            return std::make_unique<TextLineFile>(path, skip_lines, compression);
          },
          "line"};
}

RecordFormat whole_file_format() {
  return {[](const std::string& path) { return std::make_unique<WholeFile>(path); }, "number",
          true};
}

}  // namespace towerflow::data
