#pragma once

#include <string>
#include <string_view>

#include "dlo/core/time.h"
#include "dlo/server/http.h"

namespace dlo {

/// How one request wants to be answered.
struct AnswerForm {
  bool keep_alive = true;
  bool head_only = false;
  bool gzip = false;    // the client takes it
  bool is_1_0 = false;  // knows no chunks
  Millis hsts{0};       // browsers are to come back encrypted for so long (RFC 6797); 0: not said
};

/// A whole answer as bytes. Packed where that is worthwhile.
[[nodiscard]] std::string answer_text(HttpResponse response, const AnswerForm& form);

/// The head of an answer in pieces, with its first piece.
[[nodiscard]] std::string stream_head_text(const HttpResponse& head, const AnswerForm& form);
[[nodiscard]] std::string piece_text(std::string_view piece, const AnswerForm& form);
[[nodiscard]] std::string stream_end_text(const AnswerForm& form);

}  // namespace dlo
