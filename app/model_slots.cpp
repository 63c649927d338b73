#include "app/model_slots.h"

#include "app/error_text.h"

#include <QCoreApplication>
#include <QDir>
#include <QLocale>

namespace app {

using engine::ModelFileInfo;
using engine::ModelSlots;

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(ModelSlots)
};

} // namespace

QString diskSize(qint64 bytes) {
    return QLocale().formattedDataSize(bytes, 2, QLocale::DataSizeSIFormat);
}

bool isDemoModel(const ModelFileInfo& info) {
    return info.name == "Glint Demo";
}

QString modelName(const ModelFileInfo& info) {
    if (isDemoModel(info)) return Text::tr("Demo model – small, for trying the program");
    if (!info.name.empty()) return QString::fromStdString(info.name);
    return pathText(info.path.stem());
}

ui::SlotState goodSlot(const ModelFileInfo& info, ui::ModelSlot slot) {
    ui::SlotState state;
    state.mark = ui::SlotState::Mark::Good;
    if (slot == ui::ModelSlot::Target) {
        state.sentence = modelName(info);
        if (info.testModel) {
            state.mark = ui::SlotState::Mark::Warning;
            state.sentence =
                Text::tr("%1: a test model that answers nonsense").arg(modelName(info));
        }
    } else {
        state.sentence = Text::tr("fits this model");
    }
    state.detail = Text::tr("%1 · %2 · in %3")
                       .arg(pathText(info.path.filename()), diskSize(info.presentBytes),
                            QDir::toNativeSeparators(pathText(info.path.parent_path())));
    return state;
}

QString slotName(ui::ModelSlot slot) {
    switch (slot) {
    case ui::ModelSlot::Target: return Text::tr("the first slot");
    case ui::ModelSlot::Projector: return Text::tr("the second slot");
    case ui::ModelSlot::Drafter: return Text::tr("the third slot");
    }
    return {};
}

std::optional<ui::ModelSlot> slotFor(engine::FileRole role) {
    switch (role) {
    case engine::FileRole::Target: return ui::ModelSlot::Target;
    case engine::FileRole::Projector: return ui::ModelSlot::Projector;
    case engine::FileRole::Drafter: return ui::ModelSlot::Drafter;
    default: return std::nullopt;
    }
}

std::optional<ModelFileInfo>& partOf(ModelSlots& trio, ui::ModelSlot slot) {
    switch (slot) {
    case ui::ModelSlot::Projector: return trio.projector;
    case ui::ModelSlot::Drafter: return trio.drafter;
    case ui::ModelSlot::Target: break;
    }
    return trio.target;
}

} // namespace app
