#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "dlo/vault/vault.h"

namespace {

dlo::Vault make_vault() {
  dlo::KeyDraw drawn;
  drawn.id.fill(0x61);
  drawn.secret.fill(0x62);
  const dlo::KeyRing ring{{dlo::master_key(drawn)}};
  const auto key = dlo::new_data_key(ring.keys.back(), 1, dlo::TimePoint{}, drawn);
  if (!key) std::abort();
  auto vault = dlo::Vault::open(ring, std::vector<dlo::WrappedKey>{*key});
  if (!vault) std::abort();
  return std::move(*vault);
}

}  // namespace

/// Any bytes are a key file, a wrapped key, headers or sealed bytes, or are refused. What reads
/// prints as it was, plain bytes open as themselves, and nobody without the key makes bytes that
/// open as anything.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const dlo::Vault vault = make_vault();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto opened = vault.open("place", text);
  if (dlo::is_sealed(text) ? opened.has_value() : !opened || *opened != text) std::abort();
  const auto sealed = vault.seal("place", text);
  if (!sealed || *vault.open("place", *sealed) != text) std::abort();
  if (const auto headers = dlo::unpack_headers(text)) {
    const auto again = dlo::unpack_headers(dlo::pack_headers(*headers));
    if (!again || *again != *headers) std::abort();
  }
  if (const auto key = dlo::parse_wrapped_key(text)) {
    const auto again = dlo::parse_wrapped_key(dlo::to_text(*key));
    if (!again || *again != *key) std::abort();
  }
  (void)dlo::parse_key_file(text);
  return 0;
}
