#include "app/actions.h"

#include "app/chat_controller.h"
#include "app/model_controller.h"
#include "ui/main_window.h"

namespace app {

Actions::Actions(ui::MainWindow& window, ChatController& chat, ModelController& models,
                 QObject* parent)
    : QObject(parent) {
    using enum ui::ActionId;
    add(NewChat, [&] {
        models.showChat();
        chat.newChat();
    });
    add(ModelFiles, [&] { models.showSetup(); });
    add(ui::ActionId::Settings, [this] { emit settingsWished(); });
    add(Quit, [this] { emit quitWished(); });
    add(TryAgain, [&] { chat.tryAgain(); });
    add(ContinueAnswer, [&] { chat.goOn(); });
    add(AnswerNow, [&] { chat.answerNow(); });
    add(Stop, [&] { chat.stop(); });
    add(EditLast, [&] { chat.edit(); });
    add(PreviousVersion, [&] { chat.stepVersion(-1); });
    add(NextVersion, [&] { chat.stepVersion(+1); });
    add(Instructions, [&] {
        window.editInstructions(QString::fromStdString(chat.open().conversation.instructions));
    });
    add(Pin, [&] { chat.togglePin(); });
    add(MoveToTrash, [&] { chat.moveToTrash(); });
    add(LoadModel, [&] { models.load(); });
    add(UnloadModel, [&] { models.unload(); });
    add(Privacy, [this] { emit privacyWished(); });

    connect(&window, &ui::MainWindow::actionTriggered, this, [this](ui::ActionId id) {
        if (const auto handler = m_handlers.value(int(id))) handler();
    });
}

} // namespace app
