#include "dlo/broker/rabbitmq/rabbit_rights.h"

#include <memory>
#include <random>
#include <string>

#include "dlo/broker/rabbitmq/rabbit_publisher.h"

namespace dlo {

Result<void> may_send_to_queues(const RabbitServer& server) {
  RabbitPublisher publisher(server, "dlo asks for its rights");
  std::random_device dice;
  std::string nobody = "dlo-nobody";
  for (int i = 0; i < 4; ++i) nobody += "-" + std::to_string(dice());
  const RabbitPost post{"", nobody, std::make_shared<Message>()};
  const auto sent = publisher.send({&post, 1});
  publisher.close();
  if (!sent) return sent.error();
  const auto& outcome = sent->front();
  if (!outcome || outcome->code == Code::not_found) return {};  // nobody has it, as it should be
  return Error{outcome->code, outcome->where,
               "nothing can be sent to queues (write on amq.default): " + outcome->detail};
}

}  // namespace dlo
