// The rows of the action table that the window itself carries out.

#include "ui/help_dialogs.h"
#include "ui/main_window_parts.h"

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QPlainTextEdit>

namespace ui {

// True if the widget with the focus took it.
bool MainWindow::Private::edit(ActionId id) {
    QWidget* focus = QApplication::focusWidget();
    const auto apply = [id](auto* field) {
        switch (id) {
        case ActionId::Undo: field->undo(); break;
        case ActionId::Redo: field->redo(); break;
        case ActionId::Cut: field->cut(); break;
        case ActionId::Copy: field->copy(); break;
        case ActionId::Paste: field->paste(); break;
        default: field->selectAll(); break;
        }
        return true;
    };
    if (id == ActionId::Undo && sidebar->undo()) return true;
    const bool inTranscript = focus == transcript || transcript->isAncestorOf(focus);
    if (id == ActionId::Copy && !inTranscript) {
        // A selection in the transcript is copied even if the composer has the focus but nothing
        // marked.
        auto* field = qobject_cast<QPlainTextEdit*>(focus);
        if (field && !field->textCursor().hasSelection() && transcript->copy()) return true;
    }
    if (auto* field = qobject_cast<QPlainTextEdit*>(focus)) return apply(field);
    if (auto* field = qobject_cast<QLineEdit*>(focus)) return apply(field);
    if (id == ActionId::Copy) return transcript->copy();
    if (id == ActionId::SelectAll && inTranscript) {
        transcript->selectAll();
        return true;
    }
    if (id == ActionId::Paste && pages->currentWidget() == chat) {
        composer->focusText();
        composer->paste();
        return true;
    }
    return false;
}

void MainWindow::Private::findInChat(int step) {
    if (find->text().isEmpty()) transcript->clearFind();
    const TranscriptView::FindResult result = transcript->find(find->text(), step);
    find->setResult(result.hits, result.current);
}

void MainWindow::Private::carryOut(ActionId id, bool checked) {
    using enum ActionId;
    switch (id) {
    case Undo:
    case Redo:
    case Cut:
    case Copy:
    case Paste:
    case SelectAll: edit(id); return;
    case FindInChat: find->open(transcript->selectedText().section('\n', 0, 0).left(80)); return;
    case FindNext:
    case FindPrevious:
        if (!find->isVisible())
            find->open();
        else
            findInChat(id == FindNext ? 1 : -1);
        return;
    case SearchChats:
        sides->showSidebar();
        sidebar->focusSearch();
        return;
    case ActionId::Sidebar: sides->toggleSidebar(); return;
    case Performance: sides->togglePanel(); return;
    case StatusBar:
        status->setVisible(checked);
        layoutTimer.start();
        return;
    case ThemeSystem: chooseTheme(ThemeChoice::System); return;
    case ThemeLight: chooseTheme(ThemeChoice::Light); return;
    case ThemeDark: chooseTheme(ThemeChoice::Dark); return;
    case TextLarger:
        chooseZoom(textZoom() < 100 ? textZoom() + 5 : textZoom() + (textZoom() < 150 ? 10 : 25));
        return;
    case TextSmaller:
        chooseZoom(textZoom() <= 100 ? textZoom() - 5 : textZoom() - (textZoom() <= 150 ? 10 : 25));
        return;
    case TextDefault: chooseZoom(100); return;
    case FullScreen:
        q->setWindowState(checked ? q->windowState() | Qt::WindowFullScreen
                                  : q->windowState() & ~Qt::WindowFullScreen);
        return;
    case AttachFile: composer->openFileDialog(); return;
    case CopyLastAnswer: {
        const QString text = transcript->lastAnswer();
        if (text.isEmpty()) return;
        QApplication::clipboard()->setText(text);
        status->say(MainWindow::tr("Answer copied"));
        return;
    }
    case Rename:
        sides->showSidebar();
        sidebar->beginRename(sidebar->current());
        return;
    case PreviousChat:
    case NextChat: {
        const qint64 to = sidebar->neighbour(id == NextChat ? 1 : -1);
        if (to) emit sidebar->chatChosen(to);
        return;
    }
    case ThinkingLow: emit q->strengthChosen(engine::ThinkingStrength::Low); return;
    case ThinkingMedium: emit q->strengthChosen(engine::ThinkingStrength::Medium); return;
    case ThinkingHigh: emit q->strengthChosen(engine::ThinkingStrength::High); return;
    case ThinkingExtraHigh: emit q->strengthChosen(engine::ThinkingStrength::ExtraHigh); return;
    case DraftAutomatic: emit q->draftLengthChosen({}); return;
    case DraftOff: emit q->draftLengthChosen({0}); return;
    case DraftShort: emit q->draftLengthChosen({4}); return;
    case DraftMedium: emit q->draftLengthChosen({8}); return;
    case DraftLong: emit q->draftLengthChosen({12}); return;
    case DraftLongest: emit q->draftLengthChosen({15}); return;
    case Shortcuts: showShortcuts(q, *actions); return;
    case About: showAbout(q); return;
    case Stop:
        // Esc closes what lies over the chat first.
        if (q->closeTopmost()) return;
        break;
    default: break;
    }
    emit q->actionTriggered(id, checked);
}

void MainWindow::Private::nextArea(int step) {
    QList<QWidget*> areas;
    const auto add = [&](QWidget* area) {
        if (area->isVisible()) areas += area;
    };
    add(sidebar);
    add(title);
    if (pages->currentWidget() == chat) {
        add(transcript);
        add(composer);
    } else {
        add(pages->currentWidget());
    }
    add(panel);
    QWidget* focus = QApplication::focusWidget();
    int at = -1;
    for (int i = 0; i < areas.size(); ++i)
        if (areas[i] == focus || areas[i]->isAncestorOf(focus)) at = i;
    const int count = int(areas.size());
    QWidget* to = areas[at < 0 ? 0 : (at + step + count) % count];
    if (to == title) to = title->firstControl();
    if (to == composer) {
        composer->focusText();
        return;
    }
    if (to->focusPolicy() == Qt::NoFocus || to == sidebar) {
        // The first control within that can take the focus; in the sidebar it is the list.
        if (auto* list = to->findChild<QAbstractItemView*>(); list && to == sidebar) {
            to = list;
        } else {
            const QList<QWidget*> inside = to->findChildren<QWidget*>();
            const auto found =
                std::find_if(inside.begin(), inside.end(), [](const QWidget* widget) {
                    return widget->isVisible() && widget->isEnabled() &&
                           widget->focusPolicy() & Qt::TabFocus;
                });
            if (found == inside.end()) return;
            to = *found;
        }
    }
    to->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::Private::enableActions() {
    using enum ActionId;
    const bool onChat = pages->currentWidget() == chat;
    for (ActionId id : {ActionId::Stop, AnswerNow}) actions->setEnabled(id, answering);
    for (ActionId id : {TryAgain, ContinueAnswer, EditLast, PreviousVersion, NextVersion})
        actions->setEnabled(id, onChat && !answering);
    for (ActionId id : {AttachFile, FindInChat, FindNext, FindPrevious})
        actions->setEnabled(id, onChat);
    actions->setEnabled(Performance, onChat);
    actions->setEnabled(LoadModel, !loaded);
    actions->setEnabled(UnloadModel, loaded && !answering);
}

} // namespace ui
