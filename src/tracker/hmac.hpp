// A keyed hash: only who has the key can make it.
#pragma once

#include <string>
#include <string_view>

#include "base/sha256.hpp"

namespace fenceline::tracker {

// HMAC-SHA256 (RFC 2104), of any key.
Sha256 hmac_sha256(std::string_view key, std::string_view text);
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

// Takes as long whatever the texts are, as long as their lengths are.
bool same_in_constant_time(std::string_view a, std::string_view b);

}  // namespace fenceline::tracker
