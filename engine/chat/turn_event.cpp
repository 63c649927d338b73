#include "engine/chat/turn_event.h"

namespace engine {

std::string_view finishWord(FinishReason reason) {
    switch (reason) {
    case FinishReason::Stop: return "stop";
    case FinishReason::Length: return "length";
    case FinishReason::LengthWhileThinking: return "length_while_thinking";
    case FinishReason::Cancelled: return "cancelled";
    }
    return "stop";
}

} // namespace engine
