#include "backends/redis/redis_client.hpp"

namespace fenceline::redis {

class Client::Calls {
 public:
  Calls(Runtime& runtime, ClientOptions options) : runtime_(runtime), options_(std::move(options)) {}
  Runtime& runtime_;
  ClientOptions options_;
};

Client::Client(Runtime& runtime, ClientOptions options) : calls_(std::make_unique<Calls>(runtime, options)), listener_(runtime, std::move(options.address)) {}
Client::~Client() = default;
const Address& Client::address() const { return calls_->options_.address; }

}  // namespace fenceline::redis
